//! Clients of buckets, with credentials found as the tools of each cloud find them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use input::Result;
use input::network::AllowedHosts;
use input::storage::{Address, Provider};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::aws_profile::AwsProfile;
use super::client::Connector;
use super::settings::{CloudSettings, RETRIES};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const GIVE_UP_AFTER: Duration = Duration::from_mins(1);

fn retry() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: FIRST_PAUSE,
        max_backoff: LONGEST_PAUSE,
        base: 2.0,
    };
    RetryConfig {
        backoff,
        max_retries: RETRIES,
        retry_timeout: GIVE_UP_AFTER,
    }
}

/// The store of a builder, whose types have no trait in common, with our retries and connections.
macro_rules! built {
    ($builder:expr, $settings:expr) => {
        Ok(Arc::new(
            $builder
                .with_retry(retry())
                .with_http_connector(Connector($settings.hosts))
                .build()?,
        ))
    };
}

/// The client of the bucket of an address that is not on a web server.
pub(crate) fn store(address: &Address, settings: &CloudSettings) -> Result<Arc<dyn ObjectStore>> {
    let built = match address.provider {
        Provider::Google => google(address, settings),
        Provider::Amazon => amazon(address, settings),
        Provider::Azure | Provider::Web => azure(address, settings),
    };
    built.map_err(|error| super::errors::explained(&error, address))
}

fn google(
    address: &Address,
    settings: &CloudSettings,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (name, value) in settings.beginning_with("GOOGLE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    // Google's own tools keep the login in a directory that can be moved.
    let moved = settings
        .get("CLOUDSDK_CONFIG")
        .map(|dir| PathBuf::from(dir).join("application_default_credentials.json"));
    if let (None, Some(file)) = (
        settings.get("GOOGLE_APPLICATION_CREDENTIALS"),
        moved.filter(|file| file.is_file()),
    ) {
        builder = builder.with_application_credentials(file.to_string_lossy());
    }
    if let (None, Some(emulator)) = (
        settings.get("GOOGLE_BASE_URL"),
        settings.get("STORAGE_EMULATOR_HOST"),
    ) {
        let url = if emulator.contains("://") {
            emulator.to_owned()
        } else {
            format!("http://{emulator}")
        };
        builder = builder
            .with_base_url(&url)
            .with_skip_signature(true)
            .with_bearer_token("anonymous");
    }
    if settings
        .get("GOOGLE_SKIP_SIGNATURE")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    {
        // Else a token would be asked for to write.
        builder = builder.with_bearer_token("anonymous");
    }
    built!(builder.with_bucket_name(&address.bucket), settings)
}

fn amazon(
    address: &Address,
    settings: &CloudSettings,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::new();
    let has_own_keys = settings
        .first(&[
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_SKIP_SIGNATURE",
        ])
        .is_some();
    let profile = AwsProfile::of_user(settings);
    if let (false, Some(why)) = (has_own_keys, profile.refused) {
        return Err(object_store::Error::Generic {
            store: "S3",
            source: why.into(),
        });
    }
    let taken = profile
        .settings
        .iter()
        .filter(|(name, _)| !has_own_keys || !name.contains("_key") && !name.contains("token"));
    let of_environment = settings
        .beginning_with("AWS_")
        .map(|(name, value)| (name.to_ascii_lowercase(), value));
    let all = taken
        .map(|(name, value)| ((*name).to_owned(), value.as_str()))
        .chain(of_environment);
    for (name, value) in all {
        let name = if name == "aws_endpoint_url_s3" {
            "aws_endpoint_url".to_owned()
        } else {
            name
        };
        if let Ok(key) = name.parse() {
            builder = builder.with_config(key, value);
        }
    }
    built!(builder.with_bucket_name(&address.bucket), settings)
}

fn azure(
    address: &Address,
    settings: &CloudSettings,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::new();
    for (name, value) in settings.beginning_with("AZURE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(endpoint) = settings.first(&["IDENTITY_ENDPOINT"]) {
        builder = builder.with_msi_endpoint(endpoint);
    }
    if let Some(account) = &address.account {
        builder = builder.with_account(account);
    }
    let credentials = [
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_CLIENT_ID",
        "AZURE_STORAGE_CLIENT_ID",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_SKIP_SIGNATURE",
        "AZURE_STORAGE_USE_EMULATOR",
    ];
    let is_signed_in = settings
        .home()
        .is_some_and(|home| home.join(".azure").is_dir());
    if settings.first(&credentials).is_none() && is_signed_in && settings.hosts == AllowedHosts::Any
    {
        builder = builder.with_use_azure_cli(true);
    }
    built!(builder.with_container_name(&address.bucket), settings)
}
