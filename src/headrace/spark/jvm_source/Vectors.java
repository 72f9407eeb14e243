package headrace.spark;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.NewInstance;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import scala.collection.immutable.Seq;

/**
 * Applies deletion vectors as an ordinary Spark filter.
 *
 * <p>A vector is a roaring bitmap, and every executor has Spark's library for them. The filter
 * consists of calls to that library, which Spark compiles into its generated code: it needs no
 * join, no Python, and no class of Headrace on the executors.
 */
public final class Vectors {
  /** The hidden partition column with the deletion vector of a file; null if it has none. */
  public static final String COLUMN = "__headrace_deletion_vector";

  private Vectors() {}

  /** Returns an expression that is true for the rows of a scan that are not deleted. */
  static Expression isNotDeleted(LogicalPlan scan) {
    Expression vector = UnresolvedAttribute$.MODULE$.quoted(COLUMN);
    // By position, not by name: the table itself may have a column `_metadata`.
    Attribute metadata = (Attribute) scan.metadataOutput().head();
    int rowIndex = ((StructType) metadata.dataType()).fieldIndex("row_index");
    Expression row = new GetStructField(metadata, rowIndex, scala.Option.empty());
    Seq none = Predicates.seq(new Expression[0]);
    Expression buffer =
        new StaticInvoke(
            ByteBuffer.class,
            new ObjectType(ByteBuffer.class),
            "wrap",
            Predicates.seq(new Expression[] {vector}),
            none,
            true,
            false,
            true,
            scala.Option.empty());
    Expression bitmap =
        new NewInstance(
            ImmutableRoaringBitmap.class,
            Predicates.seq(new Expression[] {buffer}),
            none,
            true,
            new ObjectType(ImmutableRoaringBitmap.class),
            scala.Option.empty());
    // The bitmap takes unsigned positions, so large positions must become negative integers.
    Expression position =
        new Cast(row, DataTypes.IntegerType, scala.Option.empty(), EvalMode$.MODULE$.LEGACY());
    Expression contains =
        new Invoke(
            bitmap,
            "contains",
            DataTypes.BooleanType,
            Predicates.seq(new Expression[] {position}),
            none,
            true,
            false,
            true);
    return new Or(new IsNull(vector), new Not(contains));
  }
}
