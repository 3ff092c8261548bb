import { useEffect, useState } from 'preact/hooks';

const FEEDBACK_MS = 2000;

/** A button that copies a text, and tells whether it could. */
export const CopyButton = ({ text, label }: { text: string; label: string }) => {
  const [result, setResult] = useState<'Copied' | 'Not copied'>();
  useEffect(() => {
    const timer = setTimeout(() => setResult(undefined), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setResult('Copied'),
      () => setResult('Not copied'),
    );
  return (
    <>
      <button type="button" onClick={copy}>
        {result ?? label}
      </button>
      <span role="status" class="visually-hidden">
        {result}
      </span>
    </>
  );
};
