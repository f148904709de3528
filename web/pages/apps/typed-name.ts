/** A name that can be typed: a few words without marks, signs of direction and blanks at its ends. */
const TYPED = /^[\p{L}\p{N}\p{P}\p{S}](?:[\p{L}\p{N}\p{P}\p{S} ]{0,58}[\p{L}\p{N}\p{P}\p{S}])?$/u;

/** What a person types to confirm a change of one thing: its name, or its id where the name cannot well be typed. */
export const typedName = (name: string, id: string): string => (TYPED.test(name) ? name : id);
