// Shows the progress of a fit twice a second; without scripts the page reloads itself.
const stages = document.getElementById("stages");
const state = document.getElementById("state");

async function look() {
  try {
    const answer = await fetch(`/fits/${stages.dataset.number}/state`);
    const now = await answer.json();
    if (now.state !== stages.dataset.state) return location.reload();
    stages.innerHTML = now.html;
    state.textContent = now.state;
    setTimeout(look, 500);
  } catch {
    document.getElementById("said").textContent = "the page no longer responds; was ttf ui stopped?";
    setTimeout(look, 3000);
  }
}

setTimeout(look, 500);
