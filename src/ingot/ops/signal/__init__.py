"""Fourier transforms, and the windows and filters around them."""
