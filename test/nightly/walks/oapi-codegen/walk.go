// The walk of generated-clients.test.ts with the clients that oapi-codegen makes.
//
// It prints a line for each step, without secrets, and ends with exit code 1 at the first surprise.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

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

func secret(variable string) string {
	return strings.TrimSpace(string(must(os.ReadFile(os.Getenv(variable)))))
}

func main() {
	ctx, now := context.Background(), time.Now()
	token := secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE")
	team := must(operator.NewClientWithResponses(
		os.Getenv("MUSTER_CLIENT_OPS_URL"), operator.WithRequestEditorFn(bearer(token)),
	))
	accounts := must(team.CreateAccountWithResponse(ctx, nil, operator.CreateAccountRequest{
		Name:        "new",
		Entitlement: operator.Enterprise,
	}))
	account := typed(accounts.JSON201, accounts.HTTPResponse, "create the account")
	name := "walk"
	renaming := must(team.ChangeAccountWithResponse(
		ctx, account.AccountId, nil, operator.ChangeAccountRequest{Name: &name},
	))
	renamed := typed(renaming.JSON200, renaming.HTTPResponse, "rename the account")
	expect(
		renamed.Name == name && renamed.Entitlement == operator.Enterprise,
		"operator: created an account, and renamed it",
	)
	inAnHour := now.Add(time.Hour).Truncate(time.Millisecond)
	createdKey := must(team.CreateApiKeyWithResponse(
		ctx, account.AccountId, nil, operator.CreateApiKeyRequest{Name: &name, ExpiresAt: &inAnHour},
	))
	key := typed(createdKey.JSON201, createdKey.HTTPResponse, "create the key")
	listedKeys := must(team.ListApiKeysWithResponse(ctx, account.AccountId, nil))
	keys := typed(listedKeys.JSON200, listedKeys.HTTPResponse, "list the keys").ApiKeys
	expect(
		len(keys) == 1 && keys[0].KeyId == key.KeyId && keys[0].ExpiresAt.Equal(inAnHour) && keys[0].LastUsedAt == nil,
		"operator: created an API key that expires in an hour",
	)

	stranger := must(ownerBy("no key").ListAppsWithResponse(ctx, nil))
	refused := typed(stranger.JSON401, stranger.HTTPResponse, "list by no key")
	expect(refused.Error.Code == "invalid_key", "stranger: 401 invalid_key")

	owner := ownerBy(key.ApiKey)
	appName, idempotencyKey := "edge 1", "walk-1"
	create := func() *v1.CreateAppResponse {
		return must(owner.CreateAppWithResponse(
			ctx, &v1.CreateAppParams{IdempotencyKey: &idempotencyKey}, v1.CreateAppRequest{Name: &appName},
		))
	}
	first := create()
	app := typed(first.JSON201, first.HTTPResponse, "create the app")
	second := create()
	again := typed(second.JSON201, second.HTTPResponse, "create the app again")
	replayed := second.Headers201.IdempotencyReplayed
	expect(
		again == app && first.Headers201.IdempotencyReplayed == nil && replayed != nil && *replayed == "true",
		"owner: created an app, and got the same code by the same Idempotency-Key",
	)
	further := must(owner.CreateAppWithResponse(ctx, nil, v1.CreateAppRequest{}))
	other := typed(further.JSON201, further.HTTPResponse, "create the second app")
	expect(other.Name == "" && other.EnrollCode != app.EnrollCode, "owner: created a second app")
	pageAfter := func(after *string) operator.AccountAppPage {
		limit := 1
		page := must(team.ListAccountAppsWithResponse(
			ctx, account.AccountId, &operator.ListAccountAppsParams{Limit: &limit, After: after},
		))
		return typed(page.JSON200, page.HTTPResponse, "list a page")
	}
	page := pageAfter(nil)
	last := pageAfter(page.Next)
	inPages := page.Apps[0].AppId + last.Apps[0].AppId
	expect(
		last.Next == nil && strings.Contains(inPages, app.AppId) && strings.Contains(inPages, other.AppId),
		"operator: has both apps, in two pages",
	)
	listedApps := must(owner.ListAppsWithResponse(ctx, nil))
	pending := 0
	for _, one := range typed(listedApps.JSON200, listedApps.HTTPResponse, "list the apps").Apps {
		if one.Status == v1.AppStatusPending && one.LastSeenAt == nil && now.Sub(one.CreatedAt).Abs() < 5*time.Minute {
			pending++
		}
	}
	expect(pending == 2, "owner: both apps are pending")

	enrolling := must(device.NewClientWithResponses(os.Getenv("MUSTER_CLIENT_DEVICE_URL")))
	platform, agentVersion, connection := "linux", "1.0", device.Cloud
	enrollment := must(enrolling.EnrollDeviceWithResponse(ctx, nil, device.EnrollDeviceRequest{
		AppId: app.AppId, EnrollCode: app.EnrollCode,
		Connection: &connection, Platform: &platform, AgentVersion: &agentVersion,
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

	unfit, endpoint, authHeader, level := "https://user@otel.example.com", "https://otel.example.com",
		"Bearer collector-token", v1.Redacted
	wanted := v1.StoreOtelConfigRequest{Enabled: true, Endpoint: &unfit, EvidenceLevel: &level}
	wrong := must(owner.StoreOtelConfigWithResponse(ctx, nil, wanted))
	judged := typed(wrong.JSON400, wrong.HTTPResponse, "store what is unfit")
	expect(judged.Error.Code == "invalid_endpoint", "owner: 400 invalid_endpoint")
	wanted.Endpoint = &endpoint
	former := must(owner.StoreOtelConfigWithResponse(ctx, nil, wanted)).Headers200.ETag
	present := must(owner.ReadOtelConfigWithResponse(ctx, nil))
	wanted.AuthHeader = &authHeader
	change := v1.StoreOtelConfigParams{IfMatch: present.Headers200.ETag}
	stored := must(owner.StoreOtelConfigWithResponse(ctx, &change, wanted))
	config := typed(stored.JSON200, stored.HTTPResponse, "change the configuration")
	tag := stored.Headers200.ETag
	expect(
		*present.Headers200.ETag == *former && *tag != *former && config.AuthHeaderSet,
		"owner: stored, read and changed the configuration by its tag",
	)
	late := must(owner.StoreOtelConfigWithResponse(ctx, &change, wanted))
	over := typed(late.JSON412, late.HTTPResponse, "change it late")
	expect(over.Error.Code == "precondition_failed", "owner: by the former tag: 412 precondition_failed")

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
		unchanged.StatusCode() == http.StatusNotModified &&
			*unchanged.Headers304.ETag == strings.TrimPrefix(*poll.Headers200.ETag, "W/"),
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
	issue := must(owner.IssueEnrollCodeWithResponse(ctx, other.AppId, nil))
	issued := typed(issue.JSON201, issue.HTTPResponse, "issue a code")
	expect(issued.EnrollCode != other.EnrollCode && issued.ExpiresAt.After(now), "owner: issued another code")
	purge := must(owner.PurgeOtelConfigWithResponse(ctx, &v1.PurgeOtelConfigParams{IfMatch: tag}))
	expect(
		typed(purge.JSON200, purge.HTTPResponse, "purge").Deleted,
		"owner: purged the configuration by its tag",
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

	deleted := must(owner.DeleteAppWithResponse(ctx, other.AppId, nil))
	missing := must(owner.ReadAppWithResponse(ctx, other.AppId, nil))
	gone := typed(missing.JSON404, missing.HTTPResponse, "read what is gone")
	expect(
		deleted.StatusCode() == http.StatusNoContent && gone.Error.Code == "not_found",
		"owner: deleted the second app: 404 not_found",
	)
	audited := must(team.ListAuditWithResponse(ctx, account.AccountId, nil))
	told := ""
	for _, entry := range typed(audited.JSON200, audited.HTTPResponse, "list the audit").Entries {
		switch entry.Action {
		case "key.created":
			told += fmt.Sprint(entry.Detail["keyId"])
		case "app.revoked":
			told += *entry.AppId
		}
	}
	expect(told == key.KeyId+app.AppId, "operator: the audit tells of it")
	limited := must(ownerBy(secret("MUSTER_BUSY_KEY_FILE")).ListAppsWithResponse(ctx, nil))
	busy := typed(limited.JSON429, limited.HTTPResponse, "list too often")
	seconds := limited.Headers429.RetryAfter
	expect(
		busy.Error.Code == "rate_limited" && seconds != nil && *seconds >= 1 && *seconds <= 60,
		"busy: 429 rate_limited, with Retry-After",
	)
}
