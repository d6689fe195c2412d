{%- from 'sites/macros.jinja' import site_path, enabled_path %}
{%- set sites = pillar.get('sites', {}) %}

webd_dirs:
  file.directory:
    - names:
      - /etc/webd/sites-available
      - /etc/webd/sites-enabled
    - makedirs: True
    - mode: 755

webd_default:
  file.absent:
    - name: {{ enabled_path('default') }}
    - require: [file: webd_dirs]

{%- for name, site in sites.vhosts.items() %}
site_{{ name }}:
  file.managed:
    - name: {{ site_path(name) }}
    - source: salt://sites/files/vhost.conf.j2
    - template: jinja
    - defaults:
        port: 80
        aliases: []
        directives: {}
    - context:
        name: {{ name }}
        root: {{ sites.root }}/{{ name }}
        {%- for key in ('port', 'aliases', 'directives') if key in site %}
        {{ key }}: {{ site[key] | json }}
        {%- endfor %}
    - require:
      - file: webd_dirs
    - watch_in:
      - cmd: webd_reload

site_{{ name }}_link:
  {%- if site.enabled %}
  file.symlink:
    - name: {{ enabled_path(name) }}
    - target: ../sites-available/{{ name }}.conf
    - require: [{file: site_{{ name }}}]
  {%- else %}
  file.absent:
    - name: {{ enabled_path(name) }}
  {%- endif %}
    - listen_in:
      - test: webd_told

{{ sites.root }}/{{ name }}:
  file.directory:
    - makedirs: True
    - dir_mode: 2775
    - user: www-data
    - group: www-data
    - recurse: [user, group]
{%- endfor %}

webd_reload:
  cmd.wait:
    - name: echo reloaded >> /srv/webd.log
    - cwd: /srv

webd_told:
  test.nop: []
