"""What a cloud is asked for, as typed records: a module per cloud, whose component passes them on."""
