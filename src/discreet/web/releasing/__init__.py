"""The release desk: plans, a second pair of eyes, copies that lie ready, delivery, and traces."""
