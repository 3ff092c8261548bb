import { App, type AppProps } from 'aws-cdk-lib';
import { NotificationsStack } from './notifications-stack.ts';
import { parseSettings } from './settings.ts';
import { checkStackName } from './stack-name.ts';

/** The default name of the stack; the context key `stackName` overrides it. */
export const STACK_NAME = 'MonitoringNotifications';

/** Returns the CDK app, with the settings from its context. Synthesis needs neither an AWS account nor a network. */
export const notificationsApp = (props: AppProps = {}): App => {
  const app = new App({ analyticsReporting: false, ...props });
  const { stackName = STACK_NAME, ...context } = app.node.getAllContext();
  const name = String(stackName);
  checkStackName(name);
  new NotificationsStack(app, name, parseSettings(context));
  return app;
};
