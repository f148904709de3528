// The walk of generated-clients.test.ts with the clients that openapi-generator makes for Java.
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import muster.device.api.EnrollmentApi;
import muster.device.model.AckStatus;
import muster.device.model.AcknowledgeConfigRequest;
import muster.device.model.Connection;
import muster.device.model.EnrollDeviceRequest;
import muster.operator.api.AccountsApi;
import muster.operator.api.ApiKeysApi;
import muster.operator.api.AuditApi;
import muster.operator.api.RolloutApi;
import muster.operator.model.ChangeAccountRequest;
import muster.operator.model.CreateAccountRequest;
import muster.operator.model.CreateApiKeyRequest;
import muster.operator.model.Entitlement;
import muster.v1.ApiClient;
import muster.v1.api.AppsApi;
import muster.v1.api.ConfigurationApi;
import muster.v1.model.AppStatus;
import muster.v1.model.CreateAppRequest;
import muster.v1.model.EvidenceLevel;
import muster.v1.model.StoreOtelConfigRequest;

final class Walk {
  interface Call {
    Object run() throws Exception;
  }

  /** An answer that is no success. */
  record Refusal(int status, Map<String, List<String>> headers, String body) {
    boolean is(int expected, String code) {
      return status == expected
          && muster.v1.JSON.<muster.v1.model.Error>deserialize(body, muster.v1.model.Error.class)
              .getError().getCode().equals(code);
    }
  }

  /** Ends the walk where the step went otherwise than it says. */
  static void expect(boolean holds, String step) {
    if (!holds) throw new IllegalStateException("not so: " + step);
    System.out.println(step);
  }

  static Refusal refusal(Call call) throws Exception {
    try {
      call.run();
    } catch (muster.v1.ApiException e) {
      return new Refusal(e.getCode(), e.getResponseHeaders(), e.getResponseBody());
    } catch (muster.device.ApiException e) {
      return new Refusal(e.getCode(), e.getResponseHeaders(), e.getResponseBody());
    }
    throw new IllegalStateException("a success");
  }

  static String header(Map<String, List<String>> headers, String name) {
    return headers.entrySet().stream()
        .filter(one -> one.getKey().equalsIgnoreCase(name))
        .map(one -> one.getValue().get(0))
        .findFirst()
        .orElse(null);
  }

  static String secret(String variable) throws Exception {
    return Files.readString(Path.of(System.getenv(variable))).strip();
  }

  static ApiClient ownerBy(String secret) {
    ApiClient client = new ApiClient().setBasePath(System.getenv("MUSTER_CLIENT_URL"));
    client.setBearerToken(secret);
    return client;
  }

  static muster.device.ApiClient daemonBy(String secret) {
    var client = new muster.device.ApiClient().setBasePath(System.getenv("MUSTER_CLIENT_DEVICE_URL"));
    client.setBearerToken(secret);
    return client;
  }

  public static void main(String[] arguments) throws Exception {
    OffsetDateTime now = OffsetDateTime.now();
    var team = new muster.operator.ApiClient().setBasePath(System.getenv("MUSTER_CLIENT_OPS_URL"));
    team.setBearerToken(secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE"));
    var accounts = new AccountsApi(team);
    var creation = new CreateAccountRequest().name("new").entitlement(Entitlement.ENTERPRISE);
    String id = accounts.createAccount(creation, null, null).getAccountId();
    var renamed = accounts.changeAccount(id, null, new ChangeAccountRequest().name("walk"));
    expect(
        renamed.getName().equals("walk") && renamed.getEntitlement() == Entitlement.ENTERPRISE,
        "operator: created an account, and renamed it");
    OffsetDateTime inAnHour = now.plusHours(1).truncatedTo(ChronoUnit.MILLIS);
    var keys = new ApiKeysApi(team);
    var key = keys.createApiKey(id, null, null, new CreateApiKeyRequest().name("walk").expiresAt(inAnHour));
    var listed = keys.listApiKeys(id, null).getApiKeys();
    expect(
        listed.size() == 1
            && listed.get(0).getKeyId().equals(key.getKeyId())
            && listed.get(0).getExpiresAt().isEqual(inAnHour)
            && listed.get(0).getLastUsedAt() == null,
        "operator: created an API key that expires in an hour");

    var stranger = refusal(() -> new AppsApi(ownerBy("no key")).listApps(null));
    expect(stranger.is(401, "invalid_key"), "stranger: 401 invalid_key");

    ApiClient owner = ownerBy(key.getApiKey());
    var apps = new AppsApi(owner);
    var create = new CreateAppRequest().name("edge 1");
    var app = apps.createApp(null, "walk-1", create);
    var again = apps.createAppWithHttpInfo(null, "walk-1", create);
    expect(
        again.getData().equals(app) && "true".equals(header(again.getHeaders(), "Idempotency-Replayed")),
        "owner: created an app, and got the same code by the same Idempotency-Key");
    var second = apps.createApp(null, null, null);
    expect(
        second.getName().isEmpty() && !second.getEnrollCode().equals(app.getEnrollCode()),
        "owner: created a second app");
    var pages = new muster.operator.api.AppsApi(team);
    var page = pages.listAccountApps(id, 1, null, null);
    var last = pages.listAccountApps(id, 1, page.getNext(), null);
    expect(
        last.getNext() == null
            && Set.of(page.getApps().get(0).getAppId(), last.getApps().get(0).getAppId())
                .equals(Set.of(app.getAppId(), second.getAppId())),
        "operator: has both apps, in two pages");
    long pending = apps.listApps(null).getApps().stream()
        .filter(one -> one.getStatus() == AppStatus.PENDING && one.getLastSeenAt() == null)
        .filter(one -> Duration.between(now, one.getCreatedAt()).abs().toMinutes() < 5)
        .count();
    expect(pending == 2, "owner: both apps are pending");

    var enrollment = new EnrollmentApi(daemonBy(null));
    var machine = new EnrollDeviceRequest()
        .appId(app.getAppId()).enrollCode(app.getEnrollCode()).connection(Connection.CLOUD).platform("linux");
    var enrolled = enrollment.enrollDevice(machine, null);
    expect(
        enrolled.getAppId().equals(app.getAppId()) && enrolled.getStatus().getValue().equals("active"),
        "device: enrolled");
    machine.credentialHash("0".repeat(64));
    expect(
        refusal(() -> enrollment.enrollDevice(machine, null)).is(401, "invalid_code"),
        "device: the code is used up: 401 invalid_code");

    var configuration = new ConfigurationApi(owner);
    var wanted = new StoreOtelConfigRequest()
        .enabled(true).endpoint("https://user@otel.example.com").evidenceLevel(EvidenceLevel.REDACTED);
    expect(
        refusal(() -> configuration.storeOtelConfig(wanted, null, null)).is(400, "invalid_endpoint"),
        "owner: 400 invalid_endpoint");
    wanted.endpoint("https://otel.example.com");
    String former = header(configuration.storeOtelConfigWithHttpInfo(wanted, null, null).getHeaders(), "ETag");
    String present = header(configuration.readOtelConfigWithHttpInfo(null, null).getHeaders(), "ETag");
    var stored = configuration.storeOtelConfigWithHttpInfo(wanted.authHeader("Bearer another"), null, present);
    String tag = header(stored.getHeaders(), "ETag");
    expect(
        Objects.equals(former, present) && tag != null && !tag.equals(former) && stored.getData().getAuthHeaderSet(),
        "owner: stored, read and changed the configuration by its tag");
    expect(
        refusal(() -> configuration.storeOtelConfig(wanted, null, former)).is(412, "precondition_failed"),
        "owner: by the former tag: 412 precondition_failed");

    var daemon = new muster.device.api.ConfigurationApi(daemonBy(enrolled.getCredential()));
    var poll = daemon.pollConfigWithHttpInfo(null, null, null, null, null, null);
    var received = poll.getData();
    expect(
        received.getOtel().getEndpoint().equals("https://otel.example.com")
            && received.getOtel().getEvidenceLevel() == muster.device.model.EvidenceLevel.REDACTED
            && received.getOtel().getHeaders().get("Authorization").equals("Bearer another"),
        "device: polled: 200 with the configuration");
    String version = header(poll.getHeaders(), "ETag");
    expect(
        refusal(() -> daemon.pollConfig(null, version, null, null, null, null)).status() == 304,
        "device: polled by its tag: 304");
    var applied = new AcknowledgeConfigRequest().revision(received.getRevision()).status(AckStatus.APPLIED);
    expect(daemon.acknowledgeConfigWithHttpInfo(applied, null).getStatusCode() == 204, "device: acknowledged");
    var rollout = new RolloutApi(team).readRollout(id, null);
    expect(
        Objects.equals(rollout.getRevision(), received.getRevision())
            && rollout.getDevices().longValue() == 1
            && rollout.getApplied().longValue() == 1,
        "operator: the rollout is complete");

    var active = apps.readApp(app.getAppId(), null);
    expect(
        active.getStatus() == AppStatus.ACTIVE && active.getPlatform().equals("linux"),
        "owner: the app is active");
    var issued = apps.issueEnrollCode(second.getAppId(), null, null);
    expect(
        !issued.getEnrollCode().equals(second.getEnrollCode()) && issued.getExpiresAt().isAfter(now),
        "owner: issued another code");
    expect(configuration.purgeOtelConfig(null, tag).getDeleted(), "owner: purged the configuration by its tag");
    expect(
        apps.revokeApp(app.getAppId(), null).getStatus().getValue().equals("revoked"),
        "owner: revoked the app");
    expect(
        refusal(() -> daemon.pollConfig(null, null, null, null, null, null)).is(401, "invalid_credential"),
        "device: polled: 401 invalid_credential");
    apps.deleteApp(second.getAppId(), null);
    expect(
        refusal(() -> apps.readApp(second.getAppId(), null)).is(404, "not_found"),
        "owner: deleted the second app: 404 not_found");
    StringBuilder told = new StringBuilder();
    for (var entry : new AuditApi(team).listAudit(id, null, null, null).getEntries()) {
      if (entry.getAction().equals("key.created")) told.append(entry.getDetail().get("keyId"));
      if (entry.getAction().equals("app.revoked")) told.append(entry.getAppId());
    }
    expect(told.toString().equals(key.getKeyId() + app.getAppId()), "operator: the audit tells of it");
    var busy = new AppsApi(ownerBy(secret("MUSTER_BUSY_KEY_FILE")));
    var refused = refusal(() -> busy.listApps(null));
    int seconds = Integer.parseInt(header(refused.headers(), "Retry-After"));
    expect(
        refused.is(429, "rate_limited") && seconds >= 1 && seconds <= 60,
        "busy: 429 rate_limited, with Retry-After");
    // The connections that are kept would hold the process up.
    System.exit(0);
  }
}
