"""Alarms and a dashboard of a fabric, rendered for what a stack has."""
