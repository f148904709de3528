// The walk of docs/API.md with the generated clients: from the operator's account to a daemon that is cut off.
//
// It prints a line for each step, without secrets, and ends with exit code 1 at the first surprise.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"

	"muster.test/walk/muster/device"
	"muster.test/walk/muster/operator"
	"muster.test/walk/muster/v1"
)

// expect ends the walk where the step went otherwise than it says.
func expect(holds bool, step string) {
	if !holds {
		fail("not so: %s", step)
	}
	fmt.Println(step)
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// must gives what a call gives; a request without an answer, or an answer that does not fit its types, is a surprise.
func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

// typed gives the typed body of an answer. A body of another type is not told: it may have a secret.
func typed[T any](body *T, answer *http.Response, step string) T {
	if body == nil {
		fail("%s: %s without its typed body", step, answer.Status)
	}
	return *body
}

// bearer authenticates each request by the secret.
func bearer(secret string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+secret)
		return nil
	}
}

func ownerBy(secret string) *v1.ClientWithResponses {
	return must(v1.NewClientWithResponses(os.Getenv("MUSTER_CLIENT_URL"), v1.WithRequestEditorFn(bearer(secret))))
}

func randomKey() string {
	random := make([]byte, 16)
	must(rand.Read(random))
	return hex.EncodeToString(random)
}

func main() {
	ctx := context.Background()
	token := strings.TrimSpace(string(must(os.ReadFile(os.Getenv("MUSTER_CLIENT_OPERATOR_TOKEN_FILE")))))
	team := must(operator.NewClientWithResponses(
		os.Getenv("MUSTER_CLIENT_OPS_URL"), operator.WithRequestEditorFn(bearer(token)),
	))
	accounts := must(team.CreateAccountWithResponse(ctx, nil, operator.CreateAccountRequest{
		Name:        "walk",
		Entitlement: operator.Enterprise,
	}))
	account := typed(accounts.JSON201, accounts.HTTPResponse, "create the account")
	expect(account.Name == "walk" && !account.Disabled, "operator: created an account")
	keyName := "walk"
	createdKey := must(team.CreateApiKeyWithResponse(
		ctx, account.AccountId, nil, operator.CreateApiKeyRequest{Name: &keyName},
	))
	key := typed(createdKey.JSON201, createdKey.HTTPResponse, "create the key")
	listedKeys := must(team.ListApiKeysWithResponse(ctx, account.AccountId, nil))
	keys := typed(listedKeys.JSON200, listedKeys.HTTPResponse, "list the keys").ApiKeys
	expect(
		len(keys) == 1 && keys[0].KeyId == key.KeyId && keys[0].ExpiresAt == nil,
		"operator: created an API key that does not expire",
	)

	stranger := must(ownerBy("no key").ListAppsWithResponse(ctx, nil))
	refused := typed(stranger.JSON401, stranger.HTTPResponse, "list by no key")
	expect(refused.Error.Code == "invalid_key", "stranger: 401 invalid_key")

	owner := ownerBy(key.ApiKey)
	appName, idempotencyKey := "edge 1", randomKey()
	create := func() *v1.CreateAppResponse {
		return must(owner.CreateAppWithResponse(
			ctx, &v1.CreateAppParams{IdempotencyKey: &idempotencyKey}, v1.CreateAppRequest{Name: &appName},
		))
	}
	first := create()
	app := typed(first.JSON201, first.HTTPResponse, "create the app")
	expect(first.Headers201.IdempotencyReplayed == nil, "owner: created an app")
	second := create()
	again := typed(second.JSON201, second.HTTPResponse, "create the app again")
	replayed := second.Headers201.IdempotencyReplayed
	expect(
		again == app && replayed != nil && *replayed == "true",
		"owner: created it again by the same Idempotency-Key, and got the same code",
	)
	listedApps := must(owner.ListAppsWithResponse(ctx, nil))
	apps := typed(listedApps.JSON200, listedApps.HTTPResponse, "list the apps").Apps
	expect(
		len(apps) == 1 && apps[0].AppId == app.AppId && apps[0].Status == v1.AppStatusPending && apps[0].LastSeenAt == nil,
		"owner: has one app, which is pending",
	)

	enrolling := must(device.NewClientWithResponses(os.Getenv("MUSTER_CLIENT_DEVICE_URL")))
	platform, agentVersion, connection := "linux", "1.0", device.Cloud
	enrollment := must(enrolling.EnrollDeviceWithResponse(ctx, nil, device.EnrollDeviceRequest{
		AppId: app.AppId, EnrollCode: app.EnrollCode, Connection: &connection, Platform: &platform, AgentVersion: &agentVersion,
	}))
	enrolled := typed(enrollment.JSON200, enrollment.HTTPResponse, "enroll")
	expect(enrolled.AppId == app.AppId && enrolled.Credential != nil, "device: enrolled")
	hash := sha256.Sum256([]byte("another"))
	credentialHash := hex.EncodeToString(hash[:])
	enrollment = must(enrolling.EnrollDeviceWithResponse(ctx, nil, device.EnrollDeviceRequest{
		AppId: app.AppId, EnrollCode: app.EnrollCode, CredentialHash: &credentialHash,
	}))
	used := typed(enrollment.JSON401, enrollment.HTTPResponse, "enroll again")
	expect(used.Error.Code == "invalid_code", "device: the code is used up: 401 invalid_code")

	endpoint, authHeader, level := "https://otel.example.com", "Bearer collector-token",
		v1.Redacted
	stored := must(owner.StoreOtelConfigWithResponse(ctx, nil, v1.StoreOtelConfigRequest{
		Enabled: true, Endpoint: &endpoint, AuthHeader: &authHeader, EvidenceLevel: &level,
	}))
	config := typed(stored.JSON200, stored.HTTPResponse, "set the configuration")
	expect(config.Enabled && config.AuthHeaderSet, "owner: set the configuration")

	daemon := must(device.NewClientWithResponses(
		os.Getenv("MUSTER_CLIENT_DEVICE_URL"), device.WithRequestEditorFn(bearer(*enrolled.Credential)),
	))
	poll := must(daemon.PollConfigWithResponse(ctx, nil))
	received := typed(poll.JSON200, poll.HTTPResponse, "poll")
	expect(
		received.Otel.Endpoint == endpoint && received.Otel.EvidenceLevel == device.Redacted &&
			received.Otel.Headers["Authorization"] == authHeader,
		"device: polled: 200 with the configuration",
	)
	unchanged := must(daemon.PollConfigWithResponse(ctx, &device.PollConfigParams{IfNoneMatch: poll.Headers200.ETag}))
	expect(
		unchanged.StatusCode() == http.StatusNotModified && *unchanged.Headers304.ETag == *poll.Headers200.ETag,
		"device: polled by its tag: 304",
	)
	acknowledged := must(daemon.AcknowledgeConfigWithResponse(ctx, nil, device.AcknowledgeConfigRequest{
		Revision: received.Revision, Status: device.Applied,
	}))
	expect(acknowledged.StatusCode() == http.StatusNoContent, "device: acknowledged")
	rolledOut := must(team.ReadRolloutWithResponse(ctx, account.AccountId, nil))
	rollout := typed(rolledOut.JSON200, rolledOut.HTTPResponse, "read the rollout")
	expect(
		rollout.Revision == received.Revision && rollout.Devices == 1 && rollout.Applied == 1,
		"operator: the rollout is complete",
	)

	read := must(owner.ReadAppWithResponse(ctx, app.AppId, nil))
	active := typed(read.JSON200, read.HTTPResponse, "read the app")
	expect(
		active.Status == v1.AppStatusActive && active.Platform == platform,
		"owner: the app is active",
	)
	revocation := must(owner.RevokeAppWithResponse(ctx, app.AppId, nil))
	revoked := typed(revocation.JSON200, revocation.HTTPResponse, "revoke")
	expect(
		revoked.AppId == app.AppId && revoked.Status == v1.RevokedAppStatusRevoked,
		"owner: revoked the app",
	)
	poll = must(daemon.PollConfigWithResponse(ctx, nil))
	cutOff := typed(poll.JSON401, poll.HTTPResponse, "poll once more")
	expect(cutOff.Error.Code == "invalid_credential", "device: polled: 401 invalid_credential")

	audited := must(team.ListAuditWithResponse(ctx, account.AccountId, nil))
	var createdKeys, revokedApps []string
	for _, entry := range typed(audited.JSON200, audited.HTTPResponse, "list the audit").Entries {
		if entry.Action == "key.created" {
			keyId := entry.Detail["keyId"]
			createdKeys = append(createdKeys, must(keyId.AsAuditEntryDetail0()))
		}
		if entry.Action == "app.revoked" && entry.AppId != nil {
			revokedApps = append(revokedApps, *entry.AppId)
		}
	}
	expect(
		len(createdKeys) == 1 && createdKeys[0] == key.KeyId && len(revokedApps) == 1 && revokedApps[0] == app.AppId,
		"operator: the audit tells of it",
	)
}
