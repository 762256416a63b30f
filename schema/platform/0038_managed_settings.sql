-- Settings of the services that were changed over the platform interface. They take precedence over the project's
-- config.toml, and the server's environment over them.

create table if not exists basalt_platform.settings (
  project text not null references basalt_platform.projects on update cascade on delete cascade,
  name text not null,
  value jsonb not null,
  changed_at timestamptz not null default now(),
  changed_by text not null,
  primary key (project, name)
);
comment on table basalt_platform.settings is 'Settings that were changed over the platform interface';
comment on column basalt_platform.settings.name is 'The key in config.toml; the variable of a setting that has no key';
comment on column basalt_platform.settings.value is 'The text of the value; of a secret {"sealed": …}, encrypted, in base64';
comment on column basalt_platform.settings.changed_by is 'The name of the access token';
