sources_archive:
  archive.extracted:
    - name: /srv/app
    - source: /mnt/given/app.tar.gz
    - source_hash: /mnt/given/app.tar.gz.sha256
    - user: www-data
    - group: www-data
    - options: --strip-components=1
    - enforce_toplevel: False
    - if_missing: /srv/app/bin/app
sources_zip:
  archive.extracted:
    - name: /srv/zipped
    - source: /mnt/given/more.zip
    - skip_verify: True
    - enforce_toplevel: False
sources_file:
  file.managed:
    - name: /srv/tool
    - source: /mnt/given/tool
    - source_hash: sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sources_tool:
  file.managed:
    - name: /srv/tool.ok
    - source: /mnt/given/tool
    - source_hash: md5=96ea3542c66f3a9889d2395ed319505b
    - mode: 755
sources_list:
  file.managed:
    - name: /srv/first
    - source:
      - salt://sources/not-there
      - /mnt/given/tool
    - skip_verify: True
sources_git:
  git.latest:
    - name: /mnt/given/repo.git
    - target: /srv/checkout
    - rev: main
    - user: root
    - require: [archive: sources_archive]
sources_tag:
  git.latest:
    - name: /mnt/given/repo.git
    - target: /srv/tagged
    - rev: v1
sources_cloned:
  git.cloned:
    - name: /mnt/given/repo.git
    - target: /srv/cloned
    - branch: main
sources_config:
  git.config_set:
    - name: user.name
    - value: Ada
    - repo: /srv/checkout
    - require: [git: sources_git]
sources_absent:
  file.absent: [name: /srv/app/doc]
