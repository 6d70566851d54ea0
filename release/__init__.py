"""What is made when ingot is released."""
