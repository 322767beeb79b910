"""Models passed on: to the Hugging Face Hub and back."""
