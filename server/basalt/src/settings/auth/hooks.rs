//! `[auth.hook.*]` and `GOTRUE_HOOK_*`.

use auth::{Hook, HookName, HookSettings, Secret};

use super::{Invalid, Reader, gotrue, optional};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<HookSettings, Invalid> {
    let mut hooks = HookSettings::default();
    for name in HookName::ALL {
        let key = |part: &str| format!("auth.hook.{}.{part}", name.setting());
        let variable = |part: &str| format!("HOOK_{}_{part}", name.setting().to_ascii_uppercase());
        let enabled = gotrue(reader, &key("enabled"), &variable("ENABLED"), false)?;
        let uri: Option<String> = optional(reader, &key("uri"), &variable("URI"))?;
        let secrets: String = gotrue(reader, &key("secrets"), &variable("SECRETS"), String::new())?;
        if !enabled {
            continue;
        }
        let missing = || {
            let expected =
                "https://… or pg-functions://postgres/<schema>/<function>, since the hook is enabled";
            Invalid::new(&format!("GOTRUE_{}", variable("URI")), expected, &"none")
        };
        let uri = uri.ok_or_else(missing)?;
        let secrets = secrets.split('|').filter(|secret| !secret.is_empty()).map(Secret::from).collect();
        hooks.0.insert(name, Hook { uri, secrets });
    }
    Ok(hooks)
}
