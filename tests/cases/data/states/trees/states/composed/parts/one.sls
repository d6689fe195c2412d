include:
  - ..last
composed_file:
  file.managed:
    - name: /srv/composed
    - contents: original
composed_excluded:
  file.managed: [name: /srv/excluded]
