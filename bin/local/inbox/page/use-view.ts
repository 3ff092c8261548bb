import { useCallback, useEffect, useState } from 'preact/hooks';

/** What the page shows. Its address contains it, so that reloading and the back button work. */
export type View = {
  /** The kind of the listed messages; empty for all. */
  kind: string;
  /** A recipient of the listed messages; empty for all. */
  to: string;
  /** Words that the listed messages contain. */
  q: string;
  /** The selected message. */
  id: number | undefined;
};

const readView = (): View => {
  const parameters = new URLSearchParams(location.search);
  const id = Number(parameters.get('id') ?? Number.NaN);
  return {
    kind: parameters.get('kind') ?? '',
    to: parameters.get('to') ?? '',
    q: parameters.get('q') ?? '',
    id: Number.isInteger(id) ? id : undefined,
  };
};

const address = ({ kind, to, q, id }: View): string => {
  const parameters = new URLSearchParams({
    ...(kind && { kind }),
    ...(to && { to }),
    ...(q && { q }),
    ...(id !== undefined && { id: String(id) }),
  });
  return parameters.size === 0 ? '/' : `/?${parameters}`;
};

/** The view, and a function that changes parts of it. Opening a message adds an entry to the history. */
export const useView = (): [View, (changes: Partial<View>) => void] => {
  const [view, setView] = useState(readView);
  useEffect(() => {
    const onPopState = () => setView(readView());
    addEventListener('popstate', onPopState);
    return () => removeEventListener('popstate', onPopState);
  }, []);
  const change = useCallback((changes: Partial<View>) => {
    const previous = readView();
    const next = { ...previous, ...changes };
    const isOpening = previous.id === undefined && next.id !== undefined;
    history[isOpening ? 'pushState' : 'replaceState'](null, '', address(next));
    setView(next);
  }, []);
  return [view, change];
};
