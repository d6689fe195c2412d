beacon:
  lookup:
    master: tower.example.net
  config:
    workers: 4
    listen: [192.0.2.1, 192.0.2.2]
    tls:
      protocols: [TLSv1.3]
  tofs:
    files_switch: [roles, osfinger, os_family]
    source_files:
      beacon-config:
        - beacon.conf.special
        - beacon.conf.jinja
limits:
  nofile: {soft: 4096}
  memlock: {soft: 64}
