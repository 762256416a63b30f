-- The site's configuration, and the defaults from which a missing setting may be restored.

create table public.setting_defaults (
  key text primary key,
  value text not null,
  category text not null,
  description text not null,
  constraint setting_defaults_category_known check (category in ('site', 'app'))
);
comment on table public.setting_defaults is
  'Every setting that the site knows, with its default. The client may restore a missing settings row from here, and only from here. Changed by migrations alone.';
comment on column public.setting_defaults.key is 'Name of the setting.';
comment on column public.setting_defaults.value is 'Value that applies while nobody has chosen another.';
comment on column public.setting_defaults.category is 'site: what visitors see; app: how the application behaves.';
comment on column public.setting_defaults.description is 'What the setting does.';

create function private.is_object_of_strings(value text, keys text[]) returns boolean
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  object jsonb;
begin
  begin
    object := value::jsonb;
  exception when invalid_text_representation or untranslatable_character then
    return false;
  end;
  return case when jsonb_typeof(object) = 'object' then not exists (
    select from jsonb_each(object) as member (name, content)
    where member.name <> all (keys) or jsonb_typeof(member.content) <> 'string'
  ) else false end;
end
$$;
comment on function private.is_object_of_strings(text, text[]) is
  'True for the text of a JSON object that has no other members than the given keys, all of them strings.';

create function private.is_setting_value(key text, value text) returns boolean
language sql immutable strict parallel safe set search_path = ''
return private.is_text(value, 1, 4000) and case key
  when 'page_titles' then private.is_object_of_strings(
    value, array['home', 'about', 'careers', 'privacy', 'cookies', 'imprint', 'password', 'not_found'])
  when 'favicons' then private.is_object_of_strings(value, array['favicon', 'apple_touch_icon', 'manifest'])
  when 'password_protection' then btrim(value, '"') in ('0', '1')
  when 'contact_email' then private.is_email(btrim(value, '"'))
  when 'contact_phone' then btrim(value, '"') ~ '^\+?[0-9][0-9 ().-]{4,28}[0-9]$'
  when 'linkedin_url' then private.is_web_address(btrim(value, '"'))
  else true
end;
comment on function private.is_setting_value(text, text) is
  'True if the text is a value that the setting can take. Values may be wrapped in double quotes.';

create table public.settings (
  id uuid primary key default gen_random_uuid(),
  key text not null unique references public.setting_defaults (key),
  value text not null,
  category text not null,
  description text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint settings_category_known check (category in ('site', 'app')),
  constraint settings_value_fits_key check (private.is_setting_value(key, value)),
  constraint settings_description_length check (private.is_text(description, 1, 500))
);
comment on table public.settings is
  'The site''s configuration, one row per setting. Readable by everybody: never keep a secret here.';
comment on column public.settings.id is 'Identity of the row.';
comment on column public.settings.key is 'Name of the setting; one of setting_defaults.key.';
comment on column public.settings.value is
  'Value as text. page_titles and favicons hold a JSON object of strings, password_protection holds 0 or 1. Surrounding double quotes are ignored.';
comment on column public.settings.category is 'site: what visitors see; app: how the application behaves.';
comment on column public.settings.description is 'What the setting does, for whoever edits it.';
comment on column public.settings.created_at is 'When the row was made.';
comment on column public.settings.updated_at is 'When the row was last changed; kept by trigger.';

create trigger set_updated_at before update on public.settings
  for each row execute function private.set_updated_at();

insert into public.setting_defaults (key, value, category, description) values
  ('site_name', 'The First Brand-Exclusive Content-Media APP', 'site',
    'Name of the site, the second half of every browser tab title.'),
  ('site_description', 'A white-label, brand-exclusive content and fan-engagement platform for sports brands and clubs.', 'site',
    'Description of the site for search engines and link previews.'),
  ('page_titles', '{"home":"Digital Assets & Viewing Experience","about":"About Us","careers":"Careers","privacy":"Privacy Policy","cookies":"Cookie Policy","imprint":"Imprint","password":"Enter Password","not_found":"Page Not Found"}', 'site',
    'Browser tab title of each page, as a JSON object.'),
  ('favicons', '{"favicon":"/favicon.ico","apple_touch_icon":"/apple-touch-icon.png","manifest":"/site.webmanifest"}', 'site',
    'Paths of the icons and the web manifest, as a JSON object. A path without a leading slash is bucket/path in storage.'),
  ('og_image', 'other/terrace-social.png', 'site',
    'Picture shown when a page is shared, as bucket/path in storage; the bucket defaults to other.'),
  ('linkedin_url', 'https://linkedin.example/company/terrace', 'site',
    'Address of the company page that the footer links to.'),
  ('contact_phone', '+44 20 7946 0182', 'site',
    'Phone number in the footer and the legal pages.'),
  ('contact_email', 'hello@terrace.example', 'site',
    'E-mail address in the footer and the legal pages.'),
  ('password_protection', '0', 'app',
    'Password gate in front of the whole site: 1 enabled, 0 disabled.');
