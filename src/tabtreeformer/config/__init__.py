"""Settings as frozen values, and the presets that fill them in."""
