recursed_before:
  file.managed:
    - name: /srv/recursed/stale/old
    - contents: old
    - makedirs: True
    - unless: test -e /srv/recursed/top
recursed:
  file.recurse:
    - name: /srv/recursed
    - source: salt://recursed/files
    - clean: True
    - dir_mode: '0750'
    - file_mode: '0640'
    - user: root
    - group: adm
    - template: jinja
    - context: {word: rendered}
    - exclude_pat: 'E@(\.swp$|skipped/)'
    - include_empty: True
    - require: [file: recursed_before]
recursed_kept:
  file.recurse:
    - name: /srv/kept
    - source: salt://recursed/files/sub
    - file_mode: keep
    - include_pat: '*.sh'
recursed_directory:
  file.directory:
    - name: /srv/permissions
    - group: adm
    - file_mode: '0600'
    - dir_mode: '0700'
    - makedirs: True
    - recurse: [mode, group]
    - require: [file: recursed_inner]
recursed_inner:
  file.managed:
    - name: /srv/permissions/inner/file
    - makedirs: True
    - replace: False
