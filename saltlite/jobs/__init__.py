"""What is known of jobs: how they are shown, searched, waited for, and handed to returners."""
