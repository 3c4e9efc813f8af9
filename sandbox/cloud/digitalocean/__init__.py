"""DigitalOcean, played at the level of its Pulumi provider."""
