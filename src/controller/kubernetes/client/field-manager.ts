/** The name under which `managedFields` of an object lists the fields that Muster has written. */
export const FIELD_MANAGER = 'muster';
