"""Sharing models through the Hugging Face Hub."""
