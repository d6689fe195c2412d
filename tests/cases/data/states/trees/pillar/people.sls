people:
  groups:
    crew: {gid: 4700}
    gone: {absent: true}
  users:
    ada:
      uid: 4711
      fullname: Ada Example
      groups: [crew]
      keys:
        - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA3fYv0P5Zf5DdA2cXN1yQx0zT0V8bq2kD1r0mJ4c9aE ada@desk
        - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPq0gV5l2Y2mS0kq9bq7l6b0b3m9oQx8f1w2e3r4t5yU ada@lap
    bob:
      uid: 4712
      fullname: Bob Example
      shell: /bin/sh
      files: {'.profile': "umask 027\n"}
    eve: {absent: true}
