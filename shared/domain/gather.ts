export type Gathered<Value, Result> = {
  readonly values: readonly Value[];
  readonly result: Promise<Result>;
};

/** One request handles the values of a key that arrive until `schedule`, such as `setImmediate`, calls its argument. */
export const createGatherer = <Key, Value, Result>(
  handle: (values: readonly Value[], key: Key) => Promise<Result>,
  schedule: (close: () => void) => unknown,
) => {
  const open = new Map<Key, Gathered<Value, Result> & { readonly values: Value[] }>();

  const start = (key: Key) => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const values: Value[] = [];
    const result = closed.then(() => {
      open.delete(key);
      return handle(values, key);
    });
    const gathered = { values, result };
    open.set(key, gathered);
    schedule(close);
    return gathered;
  };

  return (key: Key, value: Value): Gathered<Value, Result> => {
    const gathered = open.get(key) ?? start(key);
    gathered.values.push(value);
    return gathered;
  };
};
