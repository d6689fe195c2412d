"""What the states of git declare: clones, work trees and new repositories."""
