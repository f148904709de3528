// The walk of generated-clients.test.ts with the clients that openapi-generator makes for Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
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

// must gives what a call gives that is a success.
func must[T any](value T, _ *http.Response, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

// tagged gives the tag of an answer as well.
func tagged[T any](value T, answer *http.Response, err error) (T, string) {
	return must(value, answer, err), answer.Header.Get("ETag")
}

// refused says whether an answer has this status and code, and no value.
func refused(answer *http.Response, err error, status int, code string) bool {
	failure, ok := err.(interface{ Body() []byte })
	var body v1.Error
	return ok && answer.StatusCode == status && json.Unmarshal(failure.Body(), &body) == nil && body.Error.Code == code
}

func secret(variable string) string {
	content, err := os.ReadFile(os.Getenv(variable))
	if err != nil {
		fail("%v", err)
	}
	return strings.TrimSpace(string(content))
}

func ownerAt(url string) *v1.APIClient {
	configuration := v1.NewConfiguration()
	configuration.Servers = v1.ServerConfigurations{{URL: url}}
	return v1.NewAPIClient(configuration)
}

func main() {
	now, none := time.Now(), context.Background()
	as := func(secret string) context.Context { return context.WithValue(none, v1.ContextAccessToken, secret) }
	bearer := func(secret string) map[string]string { return map[string]string{"Authorization": "Bearer " + secret} }
	operators := operator.NewConfiguration()
	operators.Servers = operator.ServerConfigurations{{URL: os.Getenv("MUSTER_CLIENT_OPS_URL")}}
	operators.DefaultHeader = bearer(secret("MUSTER_CLIENT_OPERATOR_TOKEN_FILE"))
	team := operator.NewAPIClient(operators)
	account := must(team.AccountsAPI.CreateAccount(none).CreateAccountRequest(
		*operator.NewCreateAccountRequest("new", operator.ENTERPRISE)).Execute())
	renaming := operator.ChangeAccountRequest{Name: operator.PtrString("walk")}
	renamed := must(team.AccountsAPI.ChangeAccount(none, account.AccountId).ChangeAccountRequest(renaming).Execute())
	expect(
		renamed.Name == "walk" && renamed.Entitlement == operator.ENTERPRISE,
		"operator: created an account, and renamed it",
	)
	inAnHour := now.Add(time.Hour).Truncate(time.Millisecond)
	creation := operator.CreateApiKeyRequest{ExpiresAt: *operator.NewNullableTime(&inAnHour)}
	key := must(team.APIKeysAPI.CreateApiKey(none, account.AccountId).CreateApiKeyRequest(creation).Execute())
	keys := must(team.APIKeysAPI.ListApiKeys(none, account.AccountId).Execute()).ApiKeys
	expect(
		len(keys) == 1 && keys[0].KeyId == key.KeyId && keys[0].ExpiresAt.Get().Equal(inAnHour) &&
			keys[0].LastUsedAt.Get() == nil,
		"operator: created an API key that expires in an hour",
	)

	client := ownerAt(os.Getenv("MUSTER_CLIENT_URL"))
	_, answer, err := client.AppsAPI.ListApps(as("no key")).Execute()
	expect(refused(answer, err, 401, "invalid_key"), "stranger: 401 invalid_key")

	owner := as(key.ApiKey)
	create := func() (*v1.CreatedApp, *http.Response, error) {
		named := v1.CreateAppRequest{Name: v1.PtrString("edge 1")}
		return client.AppsAPI.CreateApp(owner).IdempotencyKey("walk-1").CreateAppRequest(named).Execute()
	}
	app := must(create())
	again, answer, err := create()
	expect(
		must(again, answer, err).EnrollCode == app.EnrollCode && answer.Header.Get("Idempotency-Replayed") == "true",
		"owner: created an app, and got the same code by the same Idempotency-Key",
	)
	// A body that is left out is sent as null.
	_, answer, err = client.AppsAPI.CreateApp(owner).Execute()
	bodiless := refused(answer, err, 400, "invalid_name")
	second := must(client.AppsAPI.CreateApp(owner).CreateAppRequest(v1.CreateAppRequest{}).Execute())
	expect(
		bodiless && second.Name == "" && second.EnrollCode != app.EnrollCode,
		"owner: created a second app by an empty body: none is 400",
	)
	page := must(team.AppsAPI.ListAccountApps(none, account.AccountId).Limit(1).Execute())
	last := must(team.AppsAPI.ListAccountApps(none, account.AccountId).Limit(1).After(page.GetNext()).Execute())
	inPages := page.Apps[0].AppId + last.Apps[0].AppId
	expect(
		last.Next == nil && strings.Contains(inPages, app.AppId) && strings.Contains(inPages, second.AppId),
		"operator: has both apps, in two pages",
	)
	pending := 0
	for _, listed := range must(client.AppsAPI.ListApps(owner).Execute()).Apps {
		if listed.Status == v1.PENDING && listed.LastSeenAt.Get() == nil && now.Sub(listed.CreatedAt).Abs() < 5*time.Minute {
			pending++
		}
	}
	expect(pending == 2, "owner: both apps are pending")

	devices := device.NewConfiguration()
	devices.Servers = device.ServerConfigurations{{URL: os.Getenv("MUSTER_CLIENT_DEVICE_URL")}}
	daemon := device.NewAPIClient(devices)
	machine := device.NewEnrollDeviceRequest(app.AppId, app.EnrollCode)
	machine.SetPlatform("linux")
	machine.SetConnection(device.CLOUD)
	enrolled := must(daemon.EnrollmentAPI.EnrollDevice(none).EnrollDeviceRequest(*machine).Execute())
	expect(enrolled.AppId == app.AppId && enrolled.Status == "active", "device: enrolled")
	machine.SetCredentialHash(strings.Repeat("0", 64))
	_, answer, err = daemon.EnrollmentAPI.EnrollDevice(none).EnrollDeviceRequest(*machine).Execute()
	expect(refused(answer, err, 401, "invalid_code"), "device: the code is used up: 401 invalid_code")

	configuration, wanted := client.ConfigurationAPI, v1.NewStoreOtelConfigRequest(true)
	wanted.SetEndpoint("https://user@otel.example.com")
	_, answer, err = configuration.StoreOtelConfig(owner).StoreOtelConfigRequest(*wanted).Execute()
	expect(refused(answer, err, 400, "invalid_endpoint"), "owner: 400 invalid_endpoint")
	wanted.SetEndpoint("https://otel.example.com")
	wanted.SetEvidenceLevel(v1.REDACTED)
	_, former := tagged(configuration.StoreOtelConfig(owner).StoreOtelConfigRequest(*wanted).Execute())
	_, present := tagged(configuration.ReadOtelConfig(owner).Execute())
	wanted.SetAuthHeader("Bearer another")
	change := configuration.StoreOtelConfig(owner).StoreOtelConfigRequest(*wanted).IfMatch(present)
	stored, tag := tagged(change.Execute())
	expect(
		former == present && tag != former && tag != "" && stored.AuthHeaderSet,
		"owner: stored, read and changed the configuration by its tag",
	)
	_, answer, err = change.Execute()
	expect(refused(answer, err, 412, "precondition_failed"), "owner: by the former tag: 412 precondition_failed")

	polling := context.WithValue(none, device.ContextAccessToken, enrolled.GetCredential())
	received, version := tagged(daemon.ConfigurationAPI.PollConfig(polling).Execute())
	expect(
		received.Otel.Endpoint == "https://otel.example.com" && received.Otel.EvidenceLevel == device.REDACTED &&
			received.Otel.Headers["Authorization"] == "Bearer another",
		"device: polled: 200 with the configuration",
	)
	_, answer, _ = daemon.ConfigurationAPI.PollConfig(polling).IfNoneMatch(version).Execute()
	expect(answer.StatusCode == http.StatusNotModified, "device: polled by its tag: 304")
	applied := device.NewAcknowledgeConfigRequest(received.Revision, device.APPLIED)
	answer, err = daemon.ConfigurationAPI.AcknowledgeConfig(polling).AcknowledgeConfigRequest(*applied).Execute()
	expect(must(answer, answer, err).StatusCode == http.StatusNoContent, "device: acknowledged")
	rollout := must(team.RolloutAPI.ReadRollout(none, account.AccountId).Execute())
	expect(
		rollout.Revision == received.Revision && rollout.Devices == 1 && rollout.Applied == 1,
		"operator: the rollout is complete",
	)

	active := must(client.AppsAPI.ReadApp(owner, app.AppId).Execute())
	expect(active.Status == v1.ACTIVE && active.Platform == "linux", "owner: the app is active")
	issued := must(client.AppsAPI.IssueEnrollCode(owner, second.AppId).Execute())
	expect(issued.EnrollCode != second.EnrollCode && issued.ExpiresAt.After(now), "owner: issued another code")
	purged := must(configuration.PurgeOtelConfig(owner).IfMatch(tag).Execute())
	expect(purged.Deleted, "owner: purged the configuration by its tag")
	expect(must(client.AppsAPI.RevokeApp(owner, app.AppId).Execute()).Status == "revoked", "owner: revoked the app")
	_, answer, err = daemon.ConfigurationAPI.PollConfig(polling).Execute()
	expect(refused(answer, err, 401, "invalid_credential"), "device: polled: 401 invalid_credential")
	answer, err = client.AppsAPI.DeleteApp(owner, second.AppId).Execute()
	must(answer, answer, err)
	_, answer, err = client.AppsAPI.ReadApp(owner, second.AppId).Execute()
	expect(refused(answer, err, 404, "not_found"), "owner: deleted the second app: 404 not_found")
	told := ""
	for _, entry := range must(team.AuditAPI.ListAudit(none, account.AccountId).Execute()).Entries {
		switch entry.Action {
		case "key.created":
			told += fmt.Sprint(*entry.Detail["keyId"])
		case "app.revoked":
			told += entry.GetAppId()
		}
	}
	expect(told == key.KeyId+app.AppId, "operator: the audit tells of it")
	_, answer, err = client.AppsAPI.ListApps(as(secret("MUSTER_BUSY_KEY_FILE"))).Execute()
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	expect(
		refused(answer, err, 429, "rate_limited") && seconds >= 1 && seconds <= 60,
		"busy: 429 rate_limited, with Retry-After",
	)
}
