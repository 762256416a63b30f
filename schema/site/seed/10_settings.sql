-- Seed files only ever add rows that are missing: fixed ids recognise a row that an admin has since edited.
insert into public.settings (key, value, category, description)
select setting_defaults.key, coalesce(chosen.value, setting_defaults.value), setting_defaults.category, setting_defaults.description
from public.setting_defaults
left join (values
  ('site_name', 'Terrace'),
  ('site_description', 'Terrace gives sports clubs their own swipeable fan app: white-label, brand-exclusive, with points, a payment card and guaranteed revenue. Financed, built and run for you.')
) as chosen (key, value) using (key)
on conflict (key) do nothing;
