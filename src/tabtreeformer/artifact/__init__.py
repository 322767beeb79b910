"""What fitting leaves behind, the file it is kept in, and what a stranger's file may ask for."""
