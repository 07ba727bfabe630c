"""Keys of clients."""
import hashlib
import os

ADMIN, USER = "admin-key-0123456789", "user-key-0123456789"


def write_keys(path, *keys):
    with open(path, "w", encoding="utf-8") as file:
        for key, name, role in keys:
            file.write(f"{hashlib.sha256(key.encode()).hexdigest()} {name} {role}\n")
    os.chmod(path, 0o600)
