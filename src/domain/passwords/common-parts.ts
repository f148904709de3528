/*
 * What the passwords consist of that are found first: words, rows of keyboards and alphabets. A password is judged by
 * how few of these parts make it up (password-rules.ts), so a list of whole passwords is not needed.
 */

/** Words of published lists of passwords, in small letters; one part each, with or without digits for letters. */
export const COMMON_WORDS: readonly string[] = [
  'password passwort passwd passphrase pass word pwd parola senha haslo wachtwoord motdepasse contrasena kennwort',
  'letmein welcome willkommen bienvenue bienvenido admin administrator root superuser supervisor sysadmin operator',
  'muster changeme changeit default secret secrets geheim hello hallo login signin guest user username test testing',
  'tester temp temporary demo example sample access account master security secure private system manager office',
  'iloveyou loveyou ilove love lover forever always happy birthday sweetheart princess prince angel baby honey sexy',
  'sunshine sunny flower summer winter spring autumn season monday tuesday wednesday thursday friday saturday sunday',
  'january february march april june july august september october november december today tomorrow',
  'football baseball basketball soccer hockey tennis golf fishing racing liverpool chelsea arsenal barcelona juventus',
  'yankees lakers cowboys steelers eagles patriots player winner champion',
  'superman batman spiderman ironman starwars startrek pokemon pikachu naruto mario zelda matrix hunter ranger warrior',
  'dragon monkey tiger lion panda eagle falcon shark wolf horse kitty puppy chicken turtle dolphin butterfly spider',
  'michael jordan jennifer jessica charlie daniel robert thomas andrew joshua matthew anthony william richard george',
  'ashley nicole michelle amanda samantha hannah maggie buster bailey ginger pepper cookie cheese banana orange apple',
  'chocolate cherry peanut coffee pizza whiskey',
  'qwerty qwertz azerty asdfgh asdf zxcvbn zxcv qazwsx trustno whatever nothing freedom killer shadow phoenix thunder',
  'lightning midnight diamond silver golden purple yellow orange computer internet keyboard server service cloud',
  'docker kubernetes postgres mysql oracle cisco ubuntu debian linux windows google facebook samsung microsoft amazon',
  'company business money dollar please enter open sesame opensesame blink mustang ferrari porsche harley corvette',
  'america london berlin paris madrid moscow canada mexico texas england germany france',
  'jesus christ blessed heaven godisgood hola gracias amigo teamo tequiero abcdef abc',
  'correcthorsebatterystaple thisismypassword mypassword newpassword',
].flatMap((line) => line.split(' '));

/** Rows of characters, of which any piece of three or more is one part, in both directions. */
export const ROWS: readonly string[] = [
  'abcdefghijklmnopqrstuvwxyz',
  '012345678901234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
  'qazwsxedcrfvtgbyhnujmikolp',
  '1qazxsw23edcvfr45tgbnhy67ujm',
  '!@#$%^&*()_+',
  '!"§$%&/()=?',
];
