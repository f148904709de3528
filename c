"number","name","appId","enrollCode","enrollCodeExpiresAt"
