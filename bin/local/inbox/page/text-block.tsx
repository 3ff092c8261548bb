import { useState } from 'preact/hooks';

/** The characters that are shown at first: more would delay the page. */
const MAX_SHOWN = 200_000;

/** A text as it is. A very long one is cut off until the user asks for the rest. */
export const TextBlock = ({ text }: { text: string }) => {
  const [showsAll, setShowsAll] = useState(false);
  const isCut = !showsAll && text.length > MAX_SHOWN;
  return (
    <>
      <pre>{isCut ? text.slice(0, MAX_SHOWN) : text}</pre>
      {isCut && (
        <button type="button" onClick={() => setShowsAll(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  );
};
