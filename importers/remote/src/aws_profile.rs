//! Access keys and regions in the files of Amazon's command line, `~/.aws/credentials` and `~/.aws/config`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::settings::CloudSettings;

/// What a profile says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AwsProfile {
    /// Settings with the names that the store knows: `aws_access_key_id` …
    pub settings: Vec<(&'static str, String)>,
    /// Why it gives no access key, if it names another way to get one.
    pub refused: Option<String>,
}

/// Settings that are taken over.
const TAKEN: [(&str, &str); 5] = [
    ("aws_access_key_id", "aws_access_key_id"),
    ("aws_secret_access_key", "aws_secret_access_key"),
    ("aws_session_token", "aws_session_token"),
    ("region", "aws_region"),
    ("endpoint_url", "aws_endpoint"),
];

/// Ways to get keys that would need another program or a login.
const ELSEWHERE: [(&str, &str); 4] = [
    ("sso_session", "single sign-on"),
    ("sso_start_url", "single sign-on"),
    ("credential_process", "another program"),
    ("role_arn", "another role"),
];

impl AwsProfile {
    /// The profile that the user has chosen.
    pub fn of_user(settings: &CloudSettings) -> Self {
        let name = settings
            .first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
            .unwrap_or("default");
        let text = |variable: &str, file: &str| {
            let path = settings.get(variable).map(PathBuf::from);
            let path = path.or_else(|| Some(settings.home()?.join(".aws").join(file)));
            path.and_then(|path| fs::read_to_string(path).ok())
                .unwrap_or_default()
        };
        Self::read(
            name,
            &text("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            &text("AWS_CONFIG_FILE", "config"),
        )
    }

    fn read(name: &str, credentials: &str, config: &str) -> Self {
        let mut merged = section(config, |title| {
            title == name || title.strip_prefix("profile ") == Some(name)
        });
        // The file of credentials wins.
        merged.extend(section(credentials, |title| title == name));
        let taken = TAKEN
            .iter()
            .filter_map(|(theirs, ours)| Some((*ours, merged.get(*theirs)?.clone())));
        let settings: Vec<_> = taken.collect();
        let has_key = merged.contains_key("aws_access_key_id");
        let elsewhere = ELSEWHERE
            .iter()
            .find(|(setting, _)| merged.contains_key(*setting))
            .filter(|_| !has_key);
        let refused = elsewhere.map(|(_, how)| {
            format!(
                "the AWS profile {name:?} takes its access key from {how}, which is not supported: run \
                 eval \"$(aws configure export-credentials --profile {name} --format env)\" first"
            )
        });
        Self { settings, refused }
    }
}

/// The settings of a section of an INI file.
fn section(text: &str, is_meant: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let (mut settings, mut inside) = (BTreeMap::new(), false);
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if let Some(title) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            inside = is_meant(title.trim());
        } else if let (true, false, Some((name, value))) = (inside, is_nested, line.split_once('='))
            && !line.starts_with(['#', ';'])
        {
            settings.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "# mine\n[default]\naws_access_key_id = AK1\naws_secret_access_key=SK1\n\n[work]\n\
                               aws_access_key_id=AK2\naws_secret_access_key=SK2\naws_session_token = T==\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\ns3 =\n  region = nested\n[profile work]\nregion=us-east-2\n\
                          [profile sso]\nsso_session = company\nregion = eu-west-1\n";

    #[test]
    fn keys_and_regions_come_from_both_files() {
        let profile = AwsProfile::read("work", CREDENTIALS, CONFIG);
        let expected = [
            ("aws_access_key_id", "AK2"),
            ("aws_secret_access_key", "SK2"),
            ("aws_session_token", "T=="),
            ("aws_region", "us-east-2"),
        ];
        assert_eq!(
            profile.settings,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
        assert_eq!(profile.refused, None);
        let default = AwsProfile::read("default", CREDENTIALS, CONFIG);
        assert!(
            default
                .settings
                .contains(&("aws_region", "eu-west-1".to_owned())),
            "{default:?}"
        );
    }

    #[test]
    fn single_sign_on_says_what_to_do() {
        let profile = AwsProfile::read("sso", CREDENTIALS, CONFIG);
        assert!(profile.refused.is_some_and(
            |why| why.contains("single sign-on") && why.contains("export-credentials")
        ));
        assert_eq!(
            AwsProfile::read("nobody", CREDENTIALS, CONFIG),
            AwsProfile::default()
        );
    }
}
