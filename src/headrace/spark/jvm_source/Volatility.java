package headrace.spark;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.types.*;
import scala.Enumeration;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Finds the parts of an analysed plan that may return different values in another run: random
 * functions, the clock, and everything that depends on the user, the machine or the session.
 *
 * <p>Spark marks expressions that are not deterministic. It treats the clock and the session as
 * deterministic within one query: they are the expressions that it replaces by constants when it
 * optimises the plan. Strings such as 'now' that are cast to dates or times are volatile, too.
 */
public final class Volatility {
  private static final Pattern SPECIAL =
      Pattern.compile("(?i)\\s*(now|today|tomorrow|yesterday)(\\s.*)?");
  private static final Enumeration.Value CURRENT = TreePattern$.MODULE$.CURRENT_LIKE();
  private static final String METADATA_COLUMN = "__metadata_col";
  private static final String FILE_METADATA_COLUMN = "__file_source_metadata_col";

  private final Set reasons = new LinkedHashSet();
  private final ArrayDeque plans = new ArrayDeque();

  private Volatility() {}

  /** Returns the reasons, one per line; an empty string if there are none. */
  static String of(LogicalPlan plan) {
    Volatility walk = new Volatility();
    walk.plans.add(plan);
    while (!walk.plans.isEmpty()) {
      walk.visit((LogicalPlan) walk.plans.poll());
    }
    return String.join("\n", walk.reasons);
  }

  private void visit(LogicalPlan plan) {
    addAll(plan.children());
    if (plan instanceof Sample) {
      reasons.add("TABLESAMPLE takes different rows in each run");
    }
    Iterator each = plan.expressions().iterator();
    while (each.hasNext()) {
      Expression expression = (Expression) each.next();
      if (!isVectorFilter(expression)) {
        visit(expression);
      }
    }
  }

  private void addAll(Seq children) {
    Iterator each = children.iterator();
    while (each.hasNext()) {
      plans.add(each.next());
    }
  }

  /** Returns whether an expression is the filter of `Vectors`, which uses hidden columns. */
  private static boolean isVectorFilter(Expression expression) {
    Iterator each = expression.references().iterator();
    while (each.hasNext()) {
      if (((Attribute) each.next()).name().equals(Vectors.COLUMN)) {
        return true;
      }
    }
    return false;
  }

  private void visit(Expression root) {
    ArrayDeque waiting = new ArrayDeque();
    waiting.add(root);
    while (!waiting.isEmpty()) {
      Expression node = (Expression) waiting.poll();
      String reason = reason(node);
      if (reason != null) {
        reasons.add(reason);
      }
      if (node instanceof PlanExpression) {
        plans.add(((PlanExpression) node).plan());
      }
      if (node instanceof RuntimeReplaceable) {
        waiting.add(((RuntimeReplaceable) node).replacement());
      }
      Iterator each = node.children().iterator();
      while (each.hasNext()) {
        waiting.add(each.next());
      }
    }
  }

  private static String reason(Expression node) {
    if (node instanceof VariableReference) {
      return node.sql() + " is a variable of the session";
    }
    if (node instanceof AttributeReference) {
      Metadata metadata = ((AttributeReference) node).metadata();
      boolean isHidden =
          metadata.contains(METADATA_COLUMN) || metadata.contains(FILE_METADATA_COLUMN);
      return isHidden ? ((AttributeReference) node).name() + " depends on how files are stored" : null;
    }
    if (node instanceof CurrentTimeZone) {
      return null; // a setting of the project, which is part of every key
    }
    if (node.containsPattern(CURRENT) && isCause(node, CURRENT)) {
      return node.sql() + " depends on the time, the user or the session";
    }
    if (node instanceof Cast && isSpecial((Cast) node)) {
      return node.sql() + " is a different time in each run";
    }
    if (!(node instanceof PlanExpression) && !node.deterministic() && isCause(node, null)) {
      return node.sql() + " is a different value in each run";
    }
    return null;
  }

  /** Returns whether an expression itself is volatile, rather than one of its children. */
  private static boolean isCause(Expression node, Enumeration.Value pattern) {
    Iterator each = node.children().iterator();
    while (each.hasNext()) {
      Expression child = (Expression) each.next();
      if (pattern == null ? !child.deterministic() : child.containsPattern(pattern)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isSpecial(Cast cast) {
    DataType to = cast.dataType();
    boolean isTime =
        to instanceof DateType || to instanceof TimestampType || to instanceof TimestampNTZType;
    Expression from = (Expression) cast.child();
    if (!isTime || !(from.dataType() instanceof StringType) || !from.foldable()) {
      return false;
    }
    try {
      Object text = from.eval(null);
      return text != null && SPECIAL.matcher(text.toString()).matches();
    } catch (RuntimeException error) {
      return true; // its value is unknown, so it may be special
    }
  }
}
