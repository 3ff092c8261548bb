import { useState } from 'preact/hooks';
import { type FormattedBody, tokenize } from './format-body.ts';

/** The characters that are shown at first, and how many of them are highlighted: more would delay the page. */
const MAX_SHOWN = 200_000;
const MAX_HIGHLIGHTED = 50_000;

/** A text as it is, or highlighted. A very long one is cut off until the user asks for the rest. */
export const TextBlock = ({ text, format }: { text: string; format?: FormattedBody['format'] | undefined }) => {
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? text : text.slice(0, MAX_SHOWN);
  const isHighlighted = format !== undefined && shown.length <= MAX_HIGHLIGHTED;
  return (
    <>
      <pre>
        {isHighlighted
          ? tokenize({ format, text: shown }).map((token, index) =>
              token.type === 'plain' ? (
                token.text
              ) : (
                <span key={index} class={token.type}>
                  {token.text}
                </span>
              ),
            )
          : shown}
      </pre>
      {shown.length < text.length && (
        <button type="button" onClick={() => setShowsAll(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  );
};
