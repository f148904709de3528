// The walk of generated-clients.test.ts with the clients that ogen makes.
package main

import (
	"context"
	"fmt"
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

// must gives what a call gives; an answer that does not fit its types is an error.
func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

// as gives an answer as the type of its status. It tells the type of another one, never what it has.
func as[T any](answer any) T {
	typed, ok := answer.(T)
	if !ok {
		fail("%T where %T was expected", answer, typed)
	}
	return typed
}

func secret(variable string) string {
	return strings.TrimSpace(string(must(os.ReadFile(os.Getenv(variable)))))
}

// bearer gives each client its secret.
type bearer string

func (b bearer) ApiKey(context.Context, v1.OperationName) (v1.ApiKey, error) {
	return v1.ApiKey{Token: string(b)}, nil
}

func (b bearer) DeviceCredential(context.Context, device.OperationName) (device.DeviceCredential, error) {
	return device.DeviceCredential{Token: string(b)}, nil
}

func (b bearer) OperatorToken(context.Context, operator.OperationName) (operator.OperatorToken, error) {
	return operator.OperatorToken{Token: string(b)}, nil
}

func ownerBy(secret string) *v1.Client {
	return must(v1.NewClient(os.Getenv("MUSTER_CLIENT_URL"), bearer(secret)))
}

func main() {
	ctx, now := context.Background(), time.Now()
	token := secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE")
	team := must(operator.NewClient(os.Getenv("MUSTER_CLIENT_OPS_URL"), bearer(token)))
	creation := operator.CreateAccountRequest{Name: "new", Entitlement: operator.EntitlementEnterprise}
	account := as[*operator.AccountHeaders](
		must(team.CreateAccount(ctx, &creation, operator.CreateAccountParams{}))).Response
	id := account.AccountId
	renaming := operator.NewOptChangeAccountRequest(operator.ChangeAccountRequest{Name: operator.NewOptString("walk")})
	renamed := as[*operator.ReadAccountOKHeaders](
		must(team.ChangeAccount(ctx, renaming, operator.ChangeAccountParams{AccountId: id}))).Response
	expect(
		renamed.Name == "walk" && renamed.Entitlement == operator.EntitlementEnterprise,
		"operator: created an account, and renamed it",
	)
	// These clients send whole seconds.
	inAnHour := now.Add(time.Hour).Truncate(time.Second)
	expiring := operator.NewOptCreateApiKeyRequest(
		operator.CreateApiKeyRequest{ExpiresAt: operator.NewOptNilDateTime(inAnHour)})
	key := as[*operator.CreatedApiKeyHeaders](
		must(team.CreateApiKey(ctx, expiring, operator.CreateApiKeyParams{AccountId: id}))).Response
	keys := as[*operator.ApiKeyListHeaders](
		must(team.ListApiKeys(ctx, operator.ListApiKeysParams{AccountId: id}))).Response.ApiKeys
	expect(
		len(keys) == 1 && keys[0].KeyId == key.KeyId && keys[0].ExpiresAt.Value.Equal(inAnHour) && keys[0].LastUsedAt.Null,
		"operator: created an API key that expires in an hour",
	)

	refused := as[*v1.ErrorHeaders](must(ownerBy("no-key").ListApps(ctx, v1.ListAppsParams{})))
	expect(refused.Response.Error.Code == "invalid_key", "stranger: 401 invalid_key")

	owner := ownerBy(key.ApiKey)
	create := func() *v1.CreatedAppHeaders {
		return as[*v1.CreatedAppHeaders](must(owner.CreateApp(
			ctx,
			v1.NewOptCreateAppRequest(v1.CreateAppRequest{Name: v1.NewOptString("edge 1")}),
			v1.CreateAppParams{IdempotencyKey: v1.NewOptString("walk-1")},
		)))
	}
	first, again := create(), create()
	app := first.Response
	expect(
		again.Response == app && !first.IdempotencyReplayed.Set && again.IdempotencyReplayed.Value == "true",
		"owner: created an app, and got the same code by the same Idempotency-Key",
	)
	second := as[*v1.CreatedAppHeaders](
		must(owner.CreateApp(ctx, v1.OptCreateAppRequest{}, v1.CreateAppParams{}))).Response
	expect(second.Name == "" && second.EnrollCode != app.EnrollCode, "owner: created a second app")
	pages := operator.ListAccountAppsParams{AccountId: id, Limit: operator.NewOptInt(1)}
	page := as[*operator.AccountAppPageHeaders](must(team.ListAccountApps(ctx, pages))).Response
	pages.After = page.Next
	last := as[*operator.AccountAppPageHeaders](must(team.ListAccountApps(ctx, pages))).Response
	inPages := page.Apps[0].AppId + last.Apps[0].AppId
	expect(
		!last.Next.Set && strings.Contains(inPages, app.AppId) && strings.Contains(inPages, second.AppId),
		"operator: has both apps, in two pages",
	)
	pending := 0
	for _, listed := range as[*v1.AppListHeaders](must(owner.ListApps(ctx, v1.ListAppsParams{}))).Response.Apps {
		if listed.Status == v1.AppStatusPending && listed.LastSeenAt.Null && now.Sub(listed.CreatedAt).Abs() < 5*time.Minute {
			pending++
		}
	}
	expect(pending == 2, "owner: both apps are pending")

	machine := device.EnrollDeviceRequest{
		AppId:      app.AppId,
		EnrollCode: app.EnrollCode,
		Platform:   device.NewOptString("linux"),
		Connection: device.NewOptConnection(device.ConnectionCloud),
	}
	enrolling := must(device.NewClient(os.Getenv("MUSTER_CLIENT_DEVICE_URL"), bearer("")))
	enrolled := as[*device.EnrolledDeviceHeaders](
		must(enrolling.EnrollDevice(ctx, &machine, device.EnrollDeviceParams{}))).Response
	expect(enrolled.AppId == app.AppId && enrolled.Status == "active", "device: enrolled")
	machine.CredentialHash = device.NewOptString(strings.Repeat("0", 64))
	used := as[*device.EnrollDeviceUnauthorizedHeaders](
		must(enrolling.EnrollDevice(ctx, &machine, device.EnrollDeviceParams{})))
	expect(used.Response.Error.Code == "invalid_code", "device: the code is used up: 401 invalid_code")

	wanted := v1.StoreOtelConfigRequest{
		Enabled:       true,
		Endpoint:      v1.NewOptString("https://user@otel.example.com"),
		AuthHeader:    v1.NewOptString("Bearer collector-token"),
		EvidenceLevel: v1.NewOptEvidenceLevel(v1.EvidenceLevelRedacted),
	}
	unfit := as[*v1.StoreOtelConfigBadRequest](must(owner.StoreOtelConfig(ctx, &wanted, v1.StoreOtelConfigParams{})))
	expect(unfit.Response.Error.Code == "invalid_endpoint", "owner: 400 invalid_endpoint")
	wanted.Endpoint.SetTo("https://otel.example.com")
	former := as[*v1.OtelConfigHeaders](must(owner.StoreOtelConfig(ctx, &wanted, v1.StoreOtelConfigParams{}))).ETag
	read := as[*v1.OtelConfigHeaders](must(owner.ReadOtelConfig(ctx, v1.ReadOtelConfigParams{})))
	wanted.AuthHeader.SetTo("Bearer another")
	change := v1.StoreOtelConfigParams{IfMatch: read.ETag}
	stored := as[*v1.OtelConfigHeaders](must(owner.StoreOtelConfig(ctx, &wanted, change)))
	expect(
		read.ETag == former && stored.ETag != former && stored.ETag.Set && stored.Response.AuthHeaderSet,
		"owner: stored, read and changed the configuration by its tag",
	)
	late := as[*v1.StoreOtelConfigPreconditionFailed](must(owner.StoreOtelConfig(ctx, &wanted, change)))
	expect(
		late.Response.Error.Code == "precondition_failed",
		"owner: by the former tag: 412 precondition_failed",
	)

	daemon := must(device.NewClient(os.Getenv("MUSTER_CLIENT_DEVICE_URL"), bearer(enrolled.Credential.Value)))
	poll := as[*device.DeviceConfigHeaders](must(daemon.PollConfig(ctx, device.PollConfigParams{})))
	received := poll.Response
	expect(
		received.Otel.Endpoint == "https://otel.example.com" &&
			received.Otel.EvidenceLevel == device.EvidenceLevelRedacted &&
			received.Otel.Headers["Authorization"] == "Bearer another",
		"device: polled: 200 with the configuration",
	)
	by := device.PollConfigParams{IfNoneMatch: poll.ETag}
	unchanged := as[*device.PollConfigNotModified](must(daemon.PollConfig(ctx, by)))
	// A proxy that compresses makes the tag a weak one.
	expect(unchanged.ETag.Value == strings.TrimPrefix(poll.ETag.Value, "W/"), "device: polled by its tag: 304")
	applied := device.AcknowledgeConfigRequest{Revision: received.Revision, Status: device.AckStatusApplied}
	as[*device.AcknowledgeConfigNoContent](
		must(daemon.AcknowledgeConfig(ctx, &applied, device.AcknowledgeConfigParams{})))
	expect(true, "device: acknowledged")
	rollout := as[*operator.RolloutHeaders](
		must(team.ReadRollout(ctx, operator.ReadRolloutParams{AccountId: id}))).Response
	expect(
		rollout.Revision == received.Revision && rollout.Devices == 1 && rollout.Applied == 1,
		"operator: the rollout is complete",
	)

	active := as[*v1.AppHeaders](must(owner.ReadApp(ctx, v1.ReadAppParams{AppId: app.AppId}))).Response
	expect(active.Status == v1.AppStatusActive && active.Platform == "linux", "owner: the app is active")
	issued := as[*v1.IssuedEnrollCodeHeaders](
		must(owner.IssueEnrollCode(ctx, v1.IssueEnrollCodeParams{AppId: second.AppId}))).Response
	expect(issued.EnrollCode != second.EnrollCode && issued.ExpiresAt.After(now), "owner: issued another code")
	purged := as[*v1.PurgedOtelConfigHeaders](
		must(owner.PurgeOtelConfig(ctx, v1.PurgeOtelConfigParams{IfMatch: stored.ETag}))).Response
	expect(purged.Deleted, "owner: purged the configuration by its tag")
	revoked := as[*v1.RevokedAppHeaders](
		must(owner.RevokeApp(ctx, v1.RevokeAppParams{AppId: app.AppId}))).Response
	expect(revoked.Status == "revoked", "owner: revoked the app")
	cutOff := as[*device.ErrorHeaders](must(daemon.PollConfig(ctx, device.PollConfigParams{})))
	expect(cutOff.Response.Error.Code == "invalid_credential", "device: polled: 401 invalid_credential")
	as[*v1.DeleteAppNoContent](must(owner.DeleteApp(ctx, v1.DeleteAppParams{AppId: second.AppId})))
	gone := as[*v1.ReadAppNotFound](must(owner.ReadApp(ctx, v1.ReadAppParams{AppId: second.AppId})))
	expect(gone.Response.Error.Code == "not_found", "owner: deleted the second app: 404 not_found")
	told := ""
	audit := as[*operator.AuditPageHeaders](must(team.ListAudit(ctx, operator.ListAuditParams{AccountId: id})))
	for _, entry := range audit.Response.Entries {
		switch entry.Action {
		case "key.created":
			told += strings.Trim(entry.Detail["keyId"].String(), `"`)
		case "app.revoked":
			told += entry.AppId.Value
		}
	}
	expect(told == key.KeyId+app.AppId, "operator: the audit tells of it")
	busy := as[*v1.ListAppsTooManyRequests](
		must(ownerBy(secret("MUSTER_BUSY_KEY_FILE")).ListApps(ctx, v1.ListAppsParams{})))
	expect(
		busy.Response.Error.Code == "rate_limited" && busy.RetryAfter.Value >= 1 && busy.RetryAfter.Value <= 60,
		"busy: 429 rate_limited, with Retry-After",
	)
}
