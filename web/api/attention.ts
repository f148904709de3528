/* Whether somebody is at the page. */

/** How long after the last touch of the page a request still counts as asked by a person. */
const ATTENDED_MS = 60_000;

/** Loading the page is a touch. */
let touchedAt = Date.now();

for (const event of ['pointerdown', 'pointermove', 'click', 'keydown', 'focusin', 'wheel', 'touchstart']) {
  addEventListener(event, () => (touchedAt = Date.now()), { passive: true, capture: true });
}

/** Whether somebody has touched the page, by pointer, key or what speaks for them, within the last minute. */
export const isAttended = (): boolean => Date.now() - touchedAt < ATTENDED_MS;
