/*
 * A18: what each operation of the panel that changes something needs, and why. A new operation, and a new field of one
 * that needs a proof for some fields alone, must be decided here. The question is whether a stranger with a copied
 * cookie would have, by it, a way in that outlives the cookie: for themselves or for anybody else.
 */

const TAKES_AWAY = 'it takes away, and must not be held up in an emergency';
const IS_PROOF = 'it is a proof, or begins one';

/** What needs a proof: by operation, or by a field of its body where others need none. */
export const WITH_PROOF: Readonly<Record<string, string>> = {
  readProof: 'it tells whether there is one',
  readBackup: 'it has all passwords, passkeys and keys',
  changePassword: 'a way in, and the end of others',
  beginPasskey: 'a way in',
  addPasskey: 'a way in',
  removePasskey: 'the way in that would be asked for',
  linkProvider: 'a way in',
  unlinkProvider: 'the end of a way in of which the user may be in need',
  createUser: 'a link that lets somebody in',
  resetUser: 'a link that lets somebody in, without their passkeys',
  'changeUser.operator': 'the right to all of this',
  'changeUser.role': 'a right on every account',
  'changeUser.disabled': 'false lets somebody in again',
  'changeAccount.adoptableBy': 'a consent gives the account to whoever can make a custom resource',
  'changeAccount.disabled': 'false lets every key and every daemon of it in again',
  changeConsent: 'a consent gives the app to whoever can make a custom resource',
  changeMember: 'the right to make keys and invitations',
  createInvitation: 'a link that lets somebody in',
  createApiKey: 'a secret that outlives the session',
  rotateApiKey: 'a secret that outlives the session',
  storeConfiguration: 'another address for a header that is stored: the header goes there',
  restoreConfiguration: 'as storeConfiguration: another address for a header that is stored',
  testCollector: 'it sends a header that is stored to where it is stored for, and owners alone may have it sent',
  createAccessToken: 'a secret that outlives the session',
  rotateKeys: 'what every replica seals secrets with',
};

/** What needs none. */
export const WITHOUT_PROOF: Readonly<Record<string, string>> = {
  signInByPassword: IS_PROOF,
  beginPasskeySignIn: IS_PROOF,
  signInByPasskey: IS_PROOF,
  signOutByProvider: 'the provider signs it',
  readLink: 'it changes nothing',
  acceptLink: 'the link is the secret',
  proveByPassword: IS_PROOF,
  beginPasskeyProof: IS_PROOF,
  proveByPasskey: IS_PROOF,
  changeMe: 'a name opens nothing',
  signOut: TAKES_AWAY,
  endMySession: TAKES_AWAY,
  revokeAccessToken: TAKES_AWAY,
  createApp: 'a daemon gets in, and no person: the daily work of owners, in bulk',
  issueEnrollCode: 'a daemon gets in, and no person: the daily work of owners, in bulk',
  changeApps: 'what its changes need one by one',
  revokeApp: TAKES_AWAY,
  deleteApp: TAKES_AWAY,
  purgeOtelConfig: TAKES_AWAY,
  revokeApiKey: TAKES_AWAY,
  endFormerSecret: TAKES_AWAY,
  changeApiKey: TAKES_AWAY,
  decideReview: 'it lets nobody in',
  removeMember: TAKES_AWAY,
  withdrawInvitation: TAKES_AWAY,
  createAccount: 'an account without a key or a member lets nobody in',
  'changeAccount.name': 'a name opens nothing',
  'changeAccount.entitlement': 'those who are in may do more, and nobody else gets in',
  'changeAccount.quotaMb': 'those who are in may store more, and nobody else gets in',
  'changeAccount.disabled, but false': TAKES_AWAY,
  'changeAccount.namespaceUid': 'it narrows a consent, with which alone it is taken',
  'changeUser.name': 'a name opens nothing',
  'changeUser.disabled, but false': TAKES_AWAY,
  'changeUser.keepKeys': 'it keeps what is there',
  deleteUser: TAKES_AWAY,
  endUserSession: TAKES_AWAY,
};
