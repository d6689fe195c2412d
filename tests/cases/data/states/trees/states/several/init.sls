several_dirs:
  file.directory:
    - mode: '0700'
    - makedirs: True
    - names:
      - /srv/several/a
      - /srv/several/b:
        - mode: '0711'
      - /srv/several/c/d
several_files:
  file.managed:
    - contents: same
    - names:
      - /srv/several/a/one
      - /srv/several/a/two: [contents: other, mode: '0600']
    - require: [file: several_dirs]
several_commands:
  cmd.run:
    - names:
      - echo 1 >> /srv/several/log
      - echo 2 >> /srv/several/log
    - unless: test -s /srv/several/log && test "$(wc -l < /srv/several/log)" -ge 2
    - require: [file: several_files]
/srv/several/link:
  file.symlink: [target: a/one]
several_touched:
  file.touch:
    - name: /srv/several/touched
    - unless: test -e /srv/several/touched
several_copied:
  file.copy:
    - name: /srv/several/copied
    - source: /srv/several/a/two
    - preserve: True
    - require: [file: several_files]
    - unless: test -e /srv/several/renamed
several_renamed:
  file.rename:
    - name: /srv/several/renamed
    - source: /srv/several/copied
    - require: [file: several_copied]
    - unless: test -e /srv/several/renamed
short_form:
  test: [nop]
shorter: test.nop
