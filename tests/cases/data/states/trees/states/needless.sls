needless:
  file.managed: [name: /srv/needless]
