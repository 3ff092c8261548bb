import { App, type AppProps } from 'aws-cdk-lib';
import { NotificationsStack } from './notifications-stack.ts';
import { parseSettings } from './settings.ts';
import { checkStackName } from './stack-name.ts';

/** The name of the stack, unless the context `stackName` gives another one. */
export const STACK_NAME = 'MonitoringNotifications';

/**
 * The CDK app. Its context holds the settings; what the CDK CLI passes besides is added by the App itself. Needs no account
 * and no network to synthesize.
 */
export const notificationsApp = (props: AppProps = {}): App => {
  const app = new App({ analyticsReporting: false, ...props });
  const { stackName = STACK_NAME, ...context } = app.node.getAllContext();
  const name = String(stackName);
  checkStackName(name);
  new NotificationsStack(app, name, parseSettings(context));
  return app;
};
