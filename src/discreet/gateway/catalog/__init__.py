"""What the gateway asks the database about itself."""
