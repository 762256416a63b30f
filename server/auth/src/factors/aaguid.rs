//! Names of authenticators by their AAGUID, for the passkeys that users see in a list.

use uuid::{Uuid, uuid};

/// The name of a passkey whose authenticator is unknown or does not identify itself.
const ANONYMOUS: &str = "Passkey";

/// Password managers and platforms that say who they are, as the community's list of AAGUIDs names them.
const NAMES: [(Uuid, &str); 29] = [
    (uuid!("00000000-0000-0000-0000-000000000000"), ANONYMOUS),
    (uuid!("08987058-cadc-4b81-b6e1-30de50dcbe96"), "Windows Hello"),
    (uuid!("0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6"), "Keeper"),
    (uuid!("149a2021-8ef6-4133-96b8-81f8d5b7f1f5"), "Security Key by Yubico with NFC"),
    (uuid!("17290f1e-c212-34d0-1423-365d729f09d9"), "Thales PIN iOS SDK"),
    (uuid!("2fc0579f-8113-47ea-b116-bb5a8db9202a"), "YubiKey 5 Series with NFC"),
    (uuid!("42b4fb4a-2866-43b2-9bf7-6c6669c2e5d3"), "Google Titan Security Key v2"),
    (uuid!("50726f74-6f6e-5061-7373-50726f746f6e"), "Proton Pass"),
    (uuid!("531126d6-e717-415c-9320-3d9aa6981239"), "Dashlane"),
    (uuid!("53414d53-554e-4700-0000-000000000000"), "Samsung Pass"),
    (uuid!("6028b017-b1d4-4c02-b4b3-afcdafc96bb2"), "Windows Hello"),
    (uuid!("66a0ccb3-bd6a-191f-ee06-e375c50b9846"), "Thales Bio iOS SDK"),
    (uuid!("771b48fd-d3d4-4f74-9232-fc157ab0507a"), "Edge on Mac"),
    (uuid!("8836336a-f590-0921-301d-46427531eee6"), "Thales Bio Android SDK"),
    (uuid!("9ddd1817-af5a-4672-a2b9-3e3dd95000a9"), "Windows Hello"),
    (uuid!("adce0002-35bc-c60a-648b-0b25f1f05503"), "Chrome on Mac"),
    (uuid!("b5397666-4885-aa6b-cebf-e52262a439a2"), "Chromium Browser"),
    (uuid!("b78a0a55-6ef8-d246-a042-ba0f6d55050c"), "LastPass"),
    (uuid!("b84e4048-15dc-4dd0-8640-f4f60813c8af"), "NordPass"),
    (uuid!("bada5566-a7aa-401f-bd96-45619a55120d"), "1Password"),
    (uuid!("cd69adb5-3c7a-deb9-3177-6800ea6cb72a"), "Thales PIN Android SDK"),
    (uuid!("d548826e-79b4-db40-a3d8-11116f7e8349"), "Bitwarden"),
    (uuid!("de503f9c-21a4-4f76-b4b7-558eb55c6f89"), "Devolutions"),
    (uuid!("ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"), "Google Password Manager"),
    (uuid!("eaecdef2-1c31-5634-8639-f1cbd9c00a08"), "KeePassDX"),
    (uuid!("f3809540-7f14-49c1-a8b3-8f813b225541"), "Enpass"),
    (uuid!("f8a011f3-8c0a-4d15-8006-17111f9edc7d"), "Security Key by Yubico"),
    (uuid!("fbfc3007-154e-4ecc-8c0b-6e020557d7bd"), "Apple Passwords"),
    (uuid!("fdb141b2-5d84-443e-8a35-4698c205a502"), "KeePassXC"),
];

/// Returns what to call a passkey of the authenticator `aaguid` until its owner gives it a name.
pub(crate) fn name(aaguid: Uuid) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == aaguid).map_or(ANONYMOUS, |(_, name)| name)
}
