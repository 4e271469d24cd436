type DriverFunction = (...args: unknown[]) => unknown;

/** Wraps a function of a driver, which takes a callback or returns a promise, so that `onError` receives its errors as well. */
export function reportingErrors<Call>(call: Call, onError: (error: unknown) => void): Call {
  const reporting: DriverFunction = (...args) => {
    const callback = args.at(-1);
    if (typeof callback !== 'function') {
      const result = (call as DriverFunction)(...args);
      if (result instanceof Promise) result.catch(onError);
      return result;
    }
    return (call as DriverFunction)(...args.slice(0, -1), (error: unknown, ...results: unknown[]) => {
      if (error) onError(error);
      (callback as DriverFunction)(error, ...results);
    });
  };
  return reporting as Call;
}
