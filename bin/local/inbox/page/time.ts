const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const full = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' });

/** Returns the local time of a message of today, and the day of an earlier one. */
export const shortTime = (iso: string): string => {
  const time = new Date(iso);
  return time.toDateString() === new Date().toDateString() ? clock.format(time) : day.format(time);
};

/** Returns the local date and time. */
export const fullTime = (iso: string): string => full.format(new Date(iso));
