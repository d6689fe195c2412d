"""What a machine says about itself: one file per topic, each a reading and a pure parser."""
