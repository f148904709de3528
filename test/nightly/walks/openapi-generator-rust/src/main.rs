//! The walk of generated-clients.test.ts with the clients that openapi-generator makes for Rust. They give no header of
//! an answer: a tag is known from elsewhere, or is `*`.

use muster_device::{apis as device_apis, models as device};
use muster_operator::{apis as operator_apis, models as operator};
use muster_v1::{apis, models as v1};
use std::{env, error::Error, fmt::Debug, fs};

/// Ends the walk where the step went otherwise than it says.
fn expect(holds: bool, step: &str) {
    if !holds {
        panic!("not so: {step}");
    }
    println!("{step}");
}

fn from(variable: &str) -> String {
    env::var(variable).unwrap_or_default()
}

fn secret(variable: &str) -> Result<String, Box<dyn Error>> {
    Ok(fs::read_to_string(from(variable))?.trim().to_string())
}

/// Whether an answer has this status and code.
fn is(status: u16, code: &str, answer: (u16, String)) -> bool {
    let body: v1::Error = serde_json::from_str(&answer.1).expect("the body of an error");
    answer.0 == status && body.error.code == code
}

fn refused<T, E: Debug>(answer: Result<T, apis::Error<E>>) -> (u16, String) {
    match answer {
        Err(apis::Error::ResponseError(told)) => (told.status.as_u16(), told.content),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a success"),
    }
}

fn refused_device<T, E: Debug>(answer: Result<T, device_apis::Error<E>>) -> (u16, String) {
    match answer {
        Err(device_apis::Error::ResponseError(told)) => (told.status.as_u16(), told.content),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a success"),
    }
}

fn owner_by(secret: &str) -> apis::configuration::Configuration {
    let mut owner = apis::configuration::Configuration::new();
    owner.base_path = from("MUSTER_CLIENT_URL");
    owner.bearer_access_token = Some(secret.to_string());
    owner
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    use apis::{apps_api as apps, configuration_api as configuration};
    use device_apis::{configuration_api as daemon, enrollment_api as enrollment};
    use operator_apis::{accounts_api, api_keys_api, apps_api, audit_api, rollout_api};

    let now = chrono::Local::now().fixed_offset();
    let mut team = operator_apis::configuration::Configuration::new();
    team.base_path = from("MUSTER_CLIENT_OPS_URL");
    team.bearer_access_token = Some(secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE")?);
    let creation = operator::CreateAccountRequest::new("new".to_string(), operator::Entitlement::Enterprise);
    let account = accounts_api::create_account(&team, creation, None, None).await?;
    let id = account.account_id.as_str();
    let mut renaming = operator::ChangeAccountRequest::new();
    renaming.name = Some("walk".to_string());
    let renamed = accounts_api::change_account(&team, id, None, Some(renaming)).await?;
    expect(
        renamed.name == "walk" && renamed.entitlement == operator::Entitlement::Enterprise,
        "operator: created an account, and renamed it",
    );
    let mut expiring = operator::CreateApiKeyRequest::new();
    let in_an_hour = chrono::DateTime::from_timestamp_millis(now.timestamp_millis() + 3_600_000).expect("an instant");
    expiring.expires_at = Some(Some(in_an_hour.with_timezone(now.offset())));
    let key = api_keys_api::create_api_key(&team, id, None, None, Some(expiring)).await?;
    let keys = api_keys_api::list_api_keys(&team, id, None).await?.api_keys;
    expect(
        keys.len() == 1
            && keys[0].key_id == key.key_id
            && keys[0].expires_at == Some(in_an_hour.fixed_offset())
            && keys[0].last_used_at.is_none(),
        "operator: created an API key that expires in an hour",
    );

    let stranger = refused(apps::list_apps(&owner_by("no key"), None).await);
    expect(is(401, "invalid_key", stranger), "stranger: 401 invalid_key");

    let owner = owner_by(&key.api_key);
    let mut edge = v1::CreateAppRequest::new();
    edge.name = Some("edge 1".to_string());
    let app = apps::create_app(&owner, None, Some("walk-1"), Some(edge.clone())).await?;
    let again = apps::create_app(&owner, None, Some("walk-1"), Some(edge)).await?;
    expect(again == app, "owner: created an app, and got the same code by the same Idempotency-Key");
    let second = apps::create_app(&owner, None, None, Some(v1::CreateAppRequest::new())).await?;
    expect(second.name.is_empty() && second.enroll_code != app.enroll_code, "owner: created a second app");
    let page = apps_api::list_account_apps(&team, id, Some(1), None, None).await?;
    let last = apps_api::list_account_apps(&team, id, Some(1), page.next.as_deref(), None).await?;
    let in_pages: Vec<&str> = page.apps.iter().chain(&last.apps).map(|one| one.app_id.as_str()).collect();
    expect(
        last.next.is_none() && in_pages.contains(&app.app_id.as_str()) && in_pages.contains(&second.app_id.as_str()),
        "operator: has both apps, in two pages",
    );
    let listed = apps::list_apps(&owner, None).await?.apps;
    let pending = listed.iter().filter(|one| {
        one.status == v1::AppStatus::Pending
            && one.last_seen_at.is_none()
            && (one.created_at - now).num_minutes().abs() < 5
    });
    expect(pending.count() == 2, "owner: both apps are pending");

    let mut machine = device_apis::configuration::Configuration::new();
    machine.base_path = from("MUSTER_CLIENT_DEVICE_URL");
    let mut enroll = device::EnrollDeviceRequest::new(app.app_id.clone(), app.enroll_code.clone());
    enroll.platform = Some("linux".to_string());
    enroll.connection = Some(device::Connection::Cloud);
    let enrolled = enrollment::enroll_device(&machine, enroll.clone(), None).await?;
    expect(enrolled.app_id == app.app_id && enrolled.credential.is_some(), "device: enrolled");
    enroll.credential_hash = Some("0".repeat(64));
    let used = refused_device(enrollment::enroll_device(&machine, enroll, None).await);
    expect(is(401, "invalid_code", used), "device: the code is used up: 401 invalid_code");

    let mut wanted = v1::StoreOtelConfigRequest::new(true);
    wanted.endpoint = Some("https://user@otel.example.com".to_string());
    wanted.evidence_level = Some(v1::EvidenceLevel::Redacted);
    let unfit = refused(configuration::store_otel_config(&owner, wanted.clone(), None, None).await);
    expect(is(400, "invalid_endpoint", unfit), "owner: 400 invalid_endpoint");
    wanted.endpoint = Some("https://otel.example.com".to_string());
    configuration::store_otel_config(&owner, wanted.clone(), None, None).await?;
    let read = configuration::read_otel_config(&owner, None, None).await?;
    wanted.auth_header = Some("Bearer another".to_string());
    let stored = configuration::store_otel_config(&owner, wanted.clone(), None, Some("*")).await?;
    expect(
        !read.auth_header_set && stored.auth_header_set,
        "owner: stored, read and changed the configuration by any tag",
    );
    let late = refused(configuration::store_otel_config(&owner, wanted, None, Some("\"0-0\"")).await);
    expect(is(412, "precondition_failed", late), "owner: by another tag: 412 precondition_failed");

    machine.bearer_access_token = enrolled.credential;
    let received = daemon::poll_config(&machine, None, None, None, None, None, None).await?;
    expect(
        received.otel.endpoint == "https://otel.example.com"
            && received.otel.evidence_level == device::EvidenceLevel::Redacted
            && received.otel.headers["Authorization"] == "Bearer another",
        "device: polled: 200 with the configuration",
    );
    // An answer without a body is an error of these clients.
    let unchanged = daemon::poll_config(&machine, None, Some("*"), None, None, None, None).await;
    expect(
        matches!(unchanged, Err(device_apis::Error::Serde(_))),
        "device: polled by any tag: 304, an error without its status",
    );
    let applied = device::AcknowledgeConfigRequest::new(received.revision, device::AckStatus::Applied);
    daemon::acknowledge_config(&machine, applied, None).await?;
    expect(true, "device: acknowledged");
    let rollout = rollout_api::read_rollout(&team, id, None).await?;
    expect(
        (rollout.revision, rollout.devices, rollout.applied) == (received.revision, 1, 1),
        "operator: the rollout is complete",
    );

    let active = apps::read_app(&owner, &app.app_id, None).await?;
    expect(active.status == v1::AppStatus::Active && active.platform == "linux", "owner: the app is active");
    let issued = apps::issue_enroll_code(&owner, &second.app_id, None, None).await?;
    expect(
        issued.enroll_code != second.enroll_code && issued.expires_at > now,
        "owner: issued another code",
    );
    let purged = configuration::purge_otel_config(&owner, None, Some("*")).await?;
    expect(purged.deleted, "owner: purged the configuration by any tag");
    let revoked = apps::revoke_app(&owner, &app.app_id, None).await?;
    expect(revoked.app_id == app.app_id, "owner: revoked the app");
    let cut_off = refused_device(daemon::poll_config(&machine, None, None, None, None, None, None).await);
    expect(is(401, "invalid_credential", cut_off), "device: polled: 401 invalid_credential");
    apps::delete_app(&owner, &second.app_id, None).await?;
    let gone = refused(apps::read_app(&owner, &second.app_id, None).await);
    expect(is(404, "not_found", gone), "owner: deleted the second app: 404 not_found");
    let entries = audit_api::list_audit(&team, id, None, None, None).await?.entries;
    let created = entries.iter().find(|one| one.action == "key.created").expect("the key");
    let cut = entries.iter().find(|one| one.action == "app.revoked").expect("the app");
    expect(
        created.detail["keyId"] == serde_json::json!(key.key_id) && cut.app_id.as_deref() == Some(&app.app_id),
        "operator: the audit tells of it",
    );
    let busy = refused(apps::list_apps(&owner_by(&secret("MUSTER_BUSY_KEY_FILE")?), None).await);
    expect(is(429, "rate_limited", busy), "busy: 429 rate_limited");
    Ok(())
}
