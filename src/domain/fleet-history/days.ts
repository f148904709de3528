const HOURS_PER_DAY = 24;

/** The day in which an hour lies, in days since 1970. @param hour in hours since 1970 */
export const dayNumberOf = (hour: number): number => Math.floor(hour / HOURS_PER_DAY);

/** The first hour of a day. */
export const firstHourOf = (dayNumber: number): number => dayNumber * HOURS_PER_DAY;

/** 0 to 23. */
export const hourOfDay = (hour: number): number => hour % HOURS_PER_DAY;
